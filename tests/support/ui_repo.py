# ruff: noqa: E501 - files of another repository, as one line each
"""A small user interface with a style, components, dependencies and design tokens."""

from __future__ import annotations

_BUTTON = """import * as React from "react"
import { cva, type VariantProps } from "class-variance-authority"

import { cn } from "@/lib/utils"

const buttonVariants = cva("inline-flex", {
  variants: {
    variant: { default: "bg-primary", destructive: "bg-destructive" },
    size: { sm: "h-8", lg: "h-10" },
  },
  defaultVariants: { variant: "default", size: "sm" },
})

/** A clickable button. */
function Button({
  className,
  asChild = false,
  ...props
}: React.ComponentProps<"button"> & VariantProps<typeof buttonVariants> & { asChild?: boolean }) {
  return <button className={cn(buttonVariants({ className }))} {...props} />
}

export { Button, buttonVariants }
"""
_DIALOG = """import * as React from "react"

interface ConfirmDialogProps {
  title: string
  message: string
  onConfirm: () => void
  variant?: "danger" | "info"
}

/** Asks the user to confirm a dangerous action in a modal dialog. */
export function ConfirmDialog({ title, message, onConfirm, variant = "info" }: ConfirmDialogProps) {
  return <div role="dialog">{title}</div>
}
"""
_HOOK = """import { useState } from "react"

/** Whether a media query matches. */
export function useMediaQuery(query: string): boolean {
  const [matches, setMatches] = useState(false)
  return matches
}
"""
_UTILS = """/** Joins class names. */
export function cn(...inputs: string[]) {
  return inputs.join(" ")
}

/** Formats a date for people. */
export function formatDate(date: Date): string {
  return date.toISOString()
}
"""
_PAGE = """import { Button } from "@/components/button"
import { ConfirmDialog } from "@/components/confirm-dialog"
import { cn, formatDate } from "@/lib/utils"

export function Page{n}() {{
  const label = formatDate(new Date())
  const ok = cn("a", "b")
  return (
    <div className={{ok}}>
      <ConfirmDialog title="Delete?" message="Gone for good." onConfirm={{() => null}} />
      <Button variant="destructive">{{label}}</Button>
    </div>
  )
}}
"""
_CSS = """@import "tailwindcss";
:root {
  --background: oklch(1 0 0);
  --primary: #3b82f6;
  --accent: var(--primary);
  --loop-a: var(--loop-b);
  --loop-b: var(--loop-a);
  --radius: 0.625rem;
  --spacing-md: 16px;
  --cta: var(--primary);
  --pad: 12px;
}
.dark {
  --background: oklch(0.145 0 0);
  --primary: hsl(217 91% 60%);
}
@theme inline {
  --color-primary: var(--primary);
  --text-sm: 0.875rem;
  --text-sm--line-height: 1.25rem;
  --shadow-md: 0 4px 6px rgb(0 0 0 / 0.1);
}
.btn { background: var(--primary); border-radius: var(--radius); }
"""
UI = {
    "package.json": '{\n  // people write comments\n  "dependencies": {"date-fns": "^2.30.0", "zod": "^3.22.0", "react": "^19.0.0",},\n  "devDependencies": {"vitest": "1.0.0"}\n}\n',
    "package-lock.json": '{"packages": {"node_modules/date-fns": {"version": "2.30.0", "deprecated": "use v3"}}}',
    "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["./src/*"]}}}',
    ".prettierrc": '{"semi": false, "singleQuote": false, "tabWidth": 2}\n',
    "src/components/button.tsx": _BUTTON,
    "src/components/confirm-dialog.tsx": _DIALOG,
    "src/hooks/use-media-query.ts": _HOOK,
    "src/lib/utils.ts": _UTILS,
    "src/layout.ts": 'import { useMediaQuery } from "@/hooks/use-media-query"\n\nexport function useLayout() {\n  const narrow = useMediaQuery("(max-width: 40rem)")\n  const dark = useMediaQuery("(prefers-color-scheme: dark)")\n  return { narrow, dark }\n}\n',
    "src/dates.ts": 'import { format } from "date-fns"\n\nexport const today = () => format(new Date(), "yyyy")\n',
    "src/styles/globals.css": _CSS,
    "src/card.css": ".card { color: #3B82F6; padding: 1rem; border-radius: 10px; }\n",
    "src/typeset.css/readme.txt": "a folder that is called like a file\n",
    "src/Badge.vue": '<script setup lang="ts">\ndefineProps<{\n  label: string\n  tone?: string\n}>()\n</script>\n<template><span/></template>\n',
    "src/Toggle.svelte": "<script>\n  export let pressed = false;\n  export let label: string;\n</script>\n<button/>\n",
    "src/date-range-picker.svelte": "<script>\n  let { value = null } = $props();\n</script>\n<div/>\n",
    "tokens.json": '{"font": {"body": {"$type": "typography", "$value": {"fontFamily": "Inter", "fontSize": "16px"}}}, "space": {"lg": {"$type": "dimension", "$value": "24px"}}}',
    "tailwind.config.js": 'module.exports = {theme: {extend: {colors: {brand: {DEFAULT: "#ff0000", dark: "#800000"}}, spacing: {18: "4.5rem"}}}}\n',
} | {f"src/pages/page{n}.tsx": _PAGE.replace("{n}", str(n)).replace("{{", "{").replace("}}", "}") for n in range(12)}
