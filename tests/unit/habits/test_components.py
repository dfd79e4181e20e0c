"""Components as libraries define them, and when a part fits a need."""

from __future__ import annotations

import pytest

from lithos.graph.code.surveys.reading import read_survey
from lithos.habits.components import _fits, _prepared

LIBRARY = b"""
export const Badge = polymorphicFactory<BadgeFactory>((given) => { return <Box {...given} /> })
export interface BadgeProps { size?: string; color: string }
export const makeVAlertProps = propsFactory({
  border: { type: [Boolean, String], default: 'start' }, closable: Boolean, text: { type: String, required: true },
}, 'VAlert')
export const VAlert = genericComponent<Slots>()({ name: 'VAlert', props: makeVAlertProps(), setup () {} })
export interface ChipProps { label: string }
export const Chip = withContext<HTMLSpanElement, ChipProps>('span')
function AccordionRoot(props: { open: boolean }) { return <div/> }
export const Accordion = Object.assign(AccordionRoot, { Item })
export const Theme = createContext(null)
export const COLORS = Object.freeze({ red: '#f00' })
export default defineComponent({ name: 'ElTag', props: { type: String } })
"""


def test_components_that_a_call_makes_are_found_with_their_props() -> None:
    extra = read_survey("components:tsx", LIBRARY).extra
    made = {each["name"]: {prop["name"]: prop for prop in each["props"]} for each in extra["made"]}
    assert {name: [*props] for name, props in made.items() if name in extra["exported"]} == {
        "Badge": ["size", "color"],
        "VAlert": ["border", "closable", "text"],
        "Chip": ["label"],
        "Accordion": ["open"],
        "ElTag": ["type"],
    }
    assert not made["Badge"]["size"]["required"] and made["Badge"]["color"]["required"]
    assert made["VAlert"]["border"]["default"] == "start" and made["VAlert"]["text"]["required"]


@pytest.mark.parametrize(
    ("near", "said", "shared", "asked", "fits"),
    [
        (0.5, 0.45, 1, 2, False),  # a password field is no password cracking
        (0.5, 1.0, 2, 2, True),
        (0.6, 0.4, 1, 2, True),
        (0.4, 0.2, 1, 8, True),
        (0.4, 0.0, 0, 8, False),
        (0.3, 0.4, 3, 8, True),
        (0.3, 0.1, 1, 8, False),
    ],
)
def test_a_short_need_must_be_met_nearly_whole(near: float, said: float, shared: int, asked: int, fits: bool) -> None:
    assert _fits(near, said, shared, asked) is fits


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("a.vue", "<script>\n"),
        ("a.vue", "let {\n"),
        ("a.vue", "props: {\n"),
        ("a.vue", "defineProps<{ a: b\n"),
        ("a.svelte", "export let a:\n"),
    ],
)
def test_a_hostile_single_file_component_is_read_once(name: str, script: str) -> None:
    made = _prepared(name, ("<script>" + script * 100_000).encode() + b"</script>")  # squared, it takes many minutes
    assert b"export function A(" in made


def test_props_of_single_file_components() -> None:
    options = b"props: {\n    size: { type: String, required: true },\n    open: Boolean,\n  },"
    vue = b"<script>\nexport default {\n  " + options + b"\n}\n</script>\n"
    assert b"{ size: string; open?: unknown }" in _prepared("x/Tag.vue", vue)
    typed = b"<script setup>\ndefineProps<{ label: string; big?: boolean }>()\n</script><template><Icon /></template>"
    made = _prepared("x/my-tag.vue", typed)
    assert b"label: string; big?: boolean" in made and b"function MyTag" in made and b"<Icon />" in made
    assert b"a: unknown; b?: unknown" in _prepared("B.svelte", b"<script>let { a, b = 1 } = $props()</script>")
