"""Manifests and locks of a repository: which packages it depends on. One reader, for every part that asks.

Nothing is run or fetched. A file that cannot be read is named in `problems`; the others count.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from xml.etree import ElementTree

import yaml

from lithos.habits.config_files import read_toml, read_yaml
from lithos.habits.lenient_json import Unreadable, read_json

Read = Callable[[str, int], bytes | None]  # a file of the root, at most so many bytes; None: there is none
LARGEST_MANIFEST = 4 * 2**20
LARGEST_LOCK = 12 * 2**20
Kind = str  # runtime, dev, peer, optional, build
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:@.*|([<>=!~^].*?))?\s*(?:;.*)?$")
_GRADLE = re.compile(
    r"\b(implementation|api|compileOnly|runtimeOnly|testImplementation|testRuntimeOnly|androidTestImplementation|kapt"
    r"|annotationProcessor|classpath)\b\s*\(?\s*(?:platform\s*\(\s*)?['\"]([^:'\"]+):([^:'\"]+)(?::([^'\"@]+))?"
)
_GEM = re.compile(r"^\s*gem\s+['\"]([\w.-]+)['\"](?:\s*,\s*['\"]([^'\"]+)['\"])?(.*)$", re.MULTILINE)
_GO = re.compile(r"^\s*(?:require\s+)?([\w.~-]+\.[\w.~-]+/[^\s]+|[\w.-]+\.[a-z]+)\s+(v[^\s/]+)(\s*//\s*indirect)?\s*$")
_GO_TOOL = re.compile(r"^\s*(?:tool\s+)?([\w.~-]+\.[\w.~-]+/[^\s()]+)\s*$")
_MIX = re.compile(r"\{\s*:(\w+)\s*,\s*\"([^\"]*)\"([^}]*)\}")
_YARN = re.compile(r'^"?((?:@[^/@"]+/)?[^@"\s]+)@[^\n]*:\n\s+version:? "?([^"\n]+)"?', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PackageUse:
    """One dependency as a manifest names it."""

    name: str
    ecosystem: str  # npm, pypi, go, cargo, maven, gem, composer, nuget, hex, pub
    kind: Kind
    wanted: str = ""  # the range that the manifest asks for
    version: str = ""  # of the lock, where one says it
    manifest: str = ""
    deprecated: str = ""


@dataclass(slots=True)
class Manifests:
    packages: list[PackageUse] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)


def is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _READERS or bool(re.fullmatch(r"requirements[\w.-]*\.txt", name)) or name.endswith(".csproj")


def read_manifests(paths: Iterable[str], read: Read) -> Manifests:
    """All manifests among these paths, with the versions that the locks beside or above them give."""
    found = Manifests()
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        if not is_manifest(path):
            continue
        data = read(path, LARGEST_MANIFEST + 1)
        if data is None:
            continue
        found.files.append(path)
        if len(data) > LARGEST_MANIFEST:
            found.problems[path] = "it is too large"
            continue
        try:
            packages = [replace(each, manifest=path) for each in _reader(path)(data)]
        except (
            Unreadable,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            ElementTree.ParseError,
            yaml.YAMLError,
        ) as error:
            found.problems[path] = str(error)[:200] or type(error).__name__
            continue
        locked, deprecated = _locked(path, read, found.problems)
        for each in packages:
            known = _normal(each.ecosystem, each.name)
            version = locked.get(known, "") or each.version or _exact(each.wanted)
            found.packages.append(replace(each, version=version, deprecated=deprecated.get(known, "")))
    return found


def _reader(path: str) -> Callable[[bytes], Iterator[PackageUse]]:
    name = path.rpartition("/")[2]
    if name.startswith("requirements"):
        return lambda data: _requirements(data, "dev" if re.search(r"dev|test|lint|doc", name) else "runtime")
    return _csproj if name.endswith(".csproj") else _READERS[name]


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def _normal(ecosystem: str, name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower() if ecosystem == "pypi" else name


def _exact(wanted: str) -> str:
    found = re.fullmatch(r"={2,3}\s*([\w.+!-]+)|(\d[\w.+-]*)", wanted.strip())
    return (found[1] or found[2]) if found else ""


def _requirement(text: str, kind: Kind) -> PackageUse | None:
    found = _REQUIREMENT.match(text.split(" #")[0])
    return None if found is None else PackageUse(found[1], "pypi", kind, (found[2] or "").strip())


def _requirements(data: bytes, kind: Kind) -> Iterator[PackageUse]:
    for line in _text(data).splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "-")):
            each = _requirement(line.rstrip("\\ "), kind)
            if each is not None:
                yield each


def _pyproject(data: bytes) -> Iterator[PackageUse]:
    whole = read_toml(data)
    project = whole.get("project", {})
    groups = [("runtime", project.get("dependencies", []))]
    groups += [("optional", each) for each in project.get("optional-dependencies", {}).values()]
    groups += [("dev", each) for each in whole.get("dependency-groups", {}).values()]
    groups += [("build", whole.get("build-system", {}).get("requires", []))]
    for kind, lines in groups:
        for line in lines:
            each = _requirement(line, kind) if isinstance(line, str) else None
            if each is not None:
                yield each
    yield from _pyproject_tools(whole.get("tool", {}))
    poetry = whole.get("tool", {}).get("poetry", {})
    tables = [("runtime", poetry.get("dependencies", {})), ("dev", poetry.get("dev-dependencies", {}))]
    tables += [("dev", group.get("dependencies", {})) for group in poetry.get("group", {}).values()]
    for kind, table in tables:
        for name, wanted in table.items():
            if name != "python":
                said = wanted.get("version", "") if isinstance(wanted, Mapping) else str(wanted)
                yield PackageUse(name, "pypi", kind, said)


def _pyproject_tools(tool: Mapping[str, Any]) -> Iterator[PackageUse]:
    """Development dependencies in the tables of uv, PDM and Hatch."""
    groups = [tool.get("uv", {}).get("dev-dependencies", [])]
    groups += tool.get("pdm", {}).get("dev-dependencies", {}).values()
    for environment in tool.get("hatch", {}).get("envs", {}).values():
        groups += [environment.get("dependencies", []), environment.get("extra-dependencies", [])]
    for lines in groups:
        for line in lines:
            each = _requirement(line, "dev") if isinstance(line, str) else None
            if each is not None:
                yield each


def _pipfile(data: bytes) -> Iterator[PackageUse]:
    whole = read_toml(data)
    for part, kind in (("packages", "runtime"), ("dev-packages", "dev")):
        for name, wanted in whole.get(part, {}).items():
            said = wanted.get("version", "") if isinstance(wanted, Mapping) else str(wanted)
            yield PackageUse(name, "pypi", kind, "" if said == "*" else said)


def _mix(data: bytes) -> Iterator[PackageUse]:
    for name, wanted, rest in _MIX.findall(_text(data)):
        yield PackageUse(name, "hex", "dev" if ":dev" in rest or ":test" in rest else "runtime", wanted)


def _pubspec(data: bytes) -> Iterator[PackageUse]:
    whole = read_yaml(data)
    for part, kind in (("dependencies", "runtime"), ("dev_dependencies", "dev")):
        table = whole.get(part) if isinstance(whole, Mapping) else None
        for name, wanted in table.items() if isinstance(table, Mapping) else ():
            yield PackageUse(str(name), "pub", kind, wanted if isinstance(wanted, str) else "")


def _setup_cfg(data: bytes) -> Iterator[PackageUse]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(data))
    except configparser.Error as error:
        raise Unreadable(f"it is no INI file: {error}") from None
    if parser.has_option("options", "install_requires"):
        yield from _requirements(parser.get("options", "install_requires").encode(), "runtime")
    if parser.has_section("options.extras_require"):
        for _, lines in parser.items("options.extras_require"):
            yield from _requirements(lines.encode(), "optional")


_NPM_PARTS = (
    ("dependencies", "runtime"),
    ("devDependencies", "dev"),
    ("peerDependencies", "peer"),
    ("optionalDependencies", "optional"),
)


def _package_json(data: bytes) -> Iterator[PackageUse]:
    whole = read_json(data)
    if not isinstance(whole, Mapping):
        raise Unreadable("it is no object")
    for part, kind in _NPM_PARTS:
        table = whole.get(part)
        for name, wanted in table.items() if isinstance(table, Mapping) else ():
            if not str(wanted).startswith(("workspace:", "file:", "link:")):
                yield PackageUse(str(name), "npm", kind, str(wanted))


def _composer(data: bytes) -> Iterator[PackageUse]:
    whole = read_json(data)
    for part, kind in (("require", "runtime"), ("require-dev", "dev")):
        table = whole.get(part, {})
        for name, wanted in table.items() if isinstance(table, Mapping) else ():
            if "/" in name:
                yield PackageUse(name, "composer", kind, str(wanted))


def _go_mod(data: bytes) -> Iterator[PackageUse]:
    tools = False
    for line in _text(data).splitlines():
        tools = line.startswith("tool (") or (tools and not line.startswith(")"))
        named = _GO_TOOL.match(line) if tools or line.startswith("tool ") else None
        if named is not None:
            yield PackageUse(named[1], "go", "dev")
            continue
        found = _GO.match(line)
        if found is not None and not line.lstrip().startswith(
            ("module", "go ", "replace", "exclude", "//", "toolchain")
        ):
            yield PackageUse(found[1], "go", "indirect" if found[3] else "runtime", found[2], found[2])


def _cargo(data: bytes) -> Iterator[PackageUse]:
    whole = read_toml(data)
    tables = (
        [(whole, "")] + [(each, "") for each in whole.get("target", {}).values()] + [(whole.get("workspace", {}), "")]
    )
    for table, _ in tables:
        for part, kind in (("dependencies", "runtime"), ("dev-dependencies", "dev"), ("build-dependencies", "build")):
            for name, wanted in table.get(part, {}).items():
                if isinstance(wanted, Mapping):
                    if "path" in wanted and "version" not in wanted:
                        continue
                    yield PackageUse(str(wanted.get("package", name)), "cargo", kind, str(wanted.get("version", "")))
                else:
                    yield PackageUse(name, "cargo", kind, str(wanted))


def _xml(data: bytes) -> ElementTree.Element:
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise Unreadable("it declares entities")
    return ElementTree.fromstring(data)


def _pom(data: bytes) -> Iterator[PackageUse]:
    top = _xml(data)
    space = re.match(r"\{[^}]*\}", top.tag)
    prefix = space[0] if space else ""
    properties = {
        each.tag.removeprefix(prefix): each.text or "" for each in top.iter(f"{prefix}properties") for each in each
    }
    for each in top.iter(f"{prefix}dependency"):
        texts = {child.tag.removeprefix(prefix): (child.text or "").strip() for child in each}
        version = re.sub(r"\$\{([^}]+)\}", lambda found: properties.get(found[1], found[0]), texts.get("version", ""))
        kind = {"test": "dev", "provided": "peer"}.get(texts.get("scope", ""), "runtime")
        if texts.get("artifactId"):
            yield PackageUse(f"{texts.get('groupId', '')}:{texts['artifactId']}", "maven", kind, version)


def _gradle(data: bytes) -> Iterator[PackageUse]:
    for part, group, name, version in _GRADLE.findall(_text(data)):
        yield PackageUse(f"{group}:{name}", "maven", "dev" if "est" in part else "runtime", version or "")


def _gemfile(data: bytes) -> Iterator[PackageUse]:
    for name, wanted, rest in _GEM.findall(_text(data)):
        yield PackageUse(name, "gem", "dev" if "development" in rest or "test" in rest else "runtime", wanted or "")


def _csproj(data: bytes) -> Iterator[PackageUse]:
    for each in _xml(data).iter():
        if each.tag.rpartition("}")[2] == "PackageReference" and each.get("Include"):
            version = each.get("Version") or next(
                (child.text or "" for child in each if child.tag.endswith("Version")), ""
            )
            yield PackageUse(each.get("Include", ""), "nuget", "runtime", version)


_READERS: Mapping[str, Callable[[bytes], Iterator[PackageUse]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "composer.json": _composer,
    "go.mod": _go_mod,
    "Cargo.toml": _cargo,
    "pom.xml": _pom,
    "build.gradle": _gradle,
    "build.gradle.kts": _gradle,
    "Gemfile": _gemfile,
    "Pipfile": _pipfile,
    "mix.exs": _mix,
    "pubspec.yaml": _pubspec,
}
_LOCKS: Mapping[str, tuple[str, ...]] = {
    "package.json": ("package-lock.json", "pnpm-lock.yaml", "yarn.lock"),
    "pyproject.toml": ("uv.lock", "poetry.lock", "pdm.lock"),
    "Pipfile": ("Pipfile.lock",),
    "Cargo.toml": ("Cargo.lock",),
    "Gemfile": ("Gemfile.lock",),
    "composer.json": ("composer.lock",),
}


def _locked(path: str, read: Read, problems: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Versions by name, and notes of deprecation, from the lock beside the manifest or above it."""
    folder, _, name = path.rpartition("/")
    while True:
        for lock in _LOCKS.get(name, ()):
            place = f"{folder}/{lock}" if folder else lock
            data = read(place, LARGEST_LOCK + 1)
            if data is None:
                continue
            if len(data) > LARGEST_LOCK:
                problems[place] = f"it has more than {LARGEST_LOCK >> 20} MB: versions are those of the manifests"
                return {}, {}
            try:
                return _lock_versions(lock, data)
            except (
                Unreadable,
                ValueError,
                TypeError,
                AttributeError,
                KeyError,
                yaml.YAMLError,
                RecursionError,
            ) as error:
                problems[place] = str(error)[:200]
                return {}, {}
        if not folder:
            return {}, {}
        folder = folder.rpartition("/")[0]


def _lock_versions(lock: str, data: bytes) -> tuple[dict[str, str], dict[str, str]]:
    text = _text(data)
    if lock == "package-lock.json":
        return _npm_lock(read_json(data))
    if lock == "pnpm-lock.yaml":
        return _pnpm_lock(text), {}
    if lock == "yarn.lock":
        return dict(_YARN.findall(text)), {}
    if lock == "composer.lock":
        whole = read_json(data)
        return {
            each["name"]: each["version"] for part in ("packages", "packages-dev") for each in whole.get(part, [])
        }, {}
    if lock == "Gemfile.lock":
        return dict(re.findall(r"^ {4}([\w.-]+) \(([^)]+)\)$", text, re.MULTILINE)), {}
    if lock == "Pipfile.lock":
        whole = read_json(data)
        parts = [whole.get(part, {}) for part in ("default", "develop")]
        return {
            _normal("pypi", name): str(facts.get("version", "")).lstrip("=")
            for part in parts
            for name, facts in part.items()
        }, {}
    ecosystem = "cargo" if lock == "Cargo.lock" else "pypi"
    packages = read_toml(data).get("package", [])
    return {_normal(ecosystem, each["name"]): str(each.get("version", "")) for each in packages}, {}


def _npm_lock(whole: Any) -> tuple[dict[str, str], dict[str, str]]:
    versions: dict[str, str] = {}
    deprecated: dict[str, str] = {}
    for place, facts in whole.get("packages", {}).items():
        name = place.rpartition("node_modules/")[2]
        if name and place.count("node_modules/") == 1:
            versions[name] = str(facts.get("version", ""))
            if facts.get("deprecated"):
                deprecated[name] = str(facts["deprecated"])[:200]
    for name, facts in whole.get("dependencies", {}).items():
        versions.setdefault(name, str(facts.get("version", "")))
    return versions, deprecated


def _pnpm_lock(text: str) -> dict[str, str]:
    """From the `importers` alone, read by lines: the whole file as YAML takes minutes."""
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in text.splitlines():
        if line and not line.startswith((" ", "#")):
            inside = line.startswith(("importers:", "dependencies:", "devDependencies:"))
            continue
        if not inside:
            continue
        entry = re.match(r"\s+'?((?:@[^/']+/)?[^\s':@]+)'?:\s*$", line)
        if entry:
            name = entry[1]
        version = re.match(r"\s+version: '?([^\s'(]+)", line)
        if version and name:
            found.setdefault(name, version[1])
    return found
