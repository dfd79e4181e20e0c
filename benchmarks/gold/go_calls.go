// Calls of Go code as go/types resolves them: path -> [line, column, path, line].
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

type pkg struct {
	dir   string
	files []*ast.File
	types *types.Package
	busy  bool
}

var (
	root    string
	fset    = token.NewFileSet()
	modules = map[string]string{} // module path -> folder
	byPath  = map[string]*pkg{}
	std     = importer.ForCompiler(fset, "source", nil)
	info    = &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
)

type imp struct{}

func (imp) Import(path string) (*types.Package, error) {
	if p, ok := byPath[path]; ok {
		return check(path, p), nil
	}
	if !strings.Contains(strings.Split(path, "/")[0], ".") {
		if p, err := std.Import(path); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("missing %s", path)
}

func check(path string, p *pkg) *types.Package {
	if p.types != nil || p.busy {
		return p.types
	}
	p.busy = true
	conf := types.Config{Importer: imp{}, Error: func(error) {}, FakeImportC: true}
	p.types, _ = conf.Check(path, fset, p.files, info)
	p.busy = false
	return p.types
}

func main() {
	root, _ = filepath.Abs(os.Args[1])
	dirs := map[string][]string{}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.IsDir() && (d.Name() == "vendor" || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if d.Name() == "go.mod" {
			data, _ := os.ReadFile(path)
			for _, line := range strings.Split(string(data), "\n") {
				if strings.HasPrefix(line, "module ") {
					modules[strings.TrimSpace(line[7:])] = filepath.Dir(path)
				}
			}
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			dirs[filepath.Dir(path)] = append(dirs[filepath.Dir(path)], path)
		}
		return nil
	})
	for dir, names := range dirs {
		best, name := "", ""
		for module, folder := range modules {
			if (dir == folder || strings.HasPrefix(dir, folder+"/")) && len(folder) > len(best) {
				best, name = folder, module
			}
		}
		if best == "" {
			continue
		}
		path := strings.TrimSuffix(name+"/"+strings.TrimPrefix(strings.TrimPrefix(dir, best), "/"), "/")
		groups := map[string]int{}
		var files []*ast.File
		for _, each := range names {
			f, err := parser.ParseFile(fset, each, nil, parser.ParseComments)
			if f == nil || err != nil {
				continue
			}
			if constrained(f, each) {
				continue
			}
			groups[f.Name.Name]++
			files = append(files, f)
		}
		main := ""
		for g, n := range groups {
			if n > groups[main] {
				main = g
			}
		}
		var kept []*ast.File
		for _, f := range files {
			if f.Name.Name == main {
				kept = append(kept, f)
			}
		}
		byPath[path] = &pkg{dir: dir, files: kept}
	}
	out := map[string][][]any{}
	for path, p := range byPath {
		check(path, p)
	}
	for _, p := range byPath {
		for _, f := range p.files {
			file, _ := filepath.Rel(root, fset.Position(f.Pos()).Filename)
			rows := [][]any{}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				var id *ast.Ident
				fun := call.Fun
				for {
					if x, ok := fun.(*ast.ParenExpr); ok {
						fun = x.X
					} else if x, ok := fun.(*ast.IndexExpr); ok {
						fun = x.X
					} else if x, ok := fun.(*ast.IndexListExpr); ok {
						fun = x.X
					} else {
						break
					}
				}
				switch x := fun.(type) {
				case *ast.Ident:
					id = x
				case *ast.SelectorExpr:
					id = x.Sel
				default:
					return true
				}
				object := info.Uses[id]
				if object == nil {
					return true
				}
				if _, ok := object.(*types.Func); !ok {
					if _, ok := object.(*types.TypeName); !ok {
						return true // a variable, a builtin
					}
				}
				if fn, ok := object.(*types.Func); ok {
					object = fn.Origin()
				}
				at, to := fset.Position(id.Pos()), fset.Position(object.Pos())
				where, line := "", 0
				if strings.HasPrefix(to.Filename, root+"/") {
					where, _ = filepath.Rel(root, to.Filename)
					line = to.Line
				}
				rows = append(rows, []any{at.Line, at.Column - 1, where, line})
				return true
			})
			out[file] = rows
		}
	}
	json.NewEncoder(os.Stdout).Encode(out)
}

func constrained(f *ast.File, name string) bool {
	base := strings.TrimSuffix(filepath.Base(name), ".go")
	for _, other := range []string{"windows", "darwin", "freebsd", "arm64", "solaris", "openbsd", "netbsd", "wasm", "js", "plan9", "aix"} {
		if strings.HasSuffix(base, "_"+other) {
			return true
		}
	}
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:build") && !strings.Contains(c.Text, "linux") && !strings.Contains(c.Text, "!") {
				return true
			}
			if strings.HasPrefix(c.Text, "//go:build") && (strings.Contains(c.Text, "!linux") || strings.Contains(c.Text, "!unix")) {
				return true
			}
		}
	}
	return false
}
