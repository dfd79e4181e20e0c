"""One tantivy index on disk: schema, grouped writes, searches, and the marks by which damage is noticed."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import math
import os
import re
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lithos.core.canonical import sha256_hex
from lithos.errors import Damaged, Unavailable
from lithos.search.text.analysis import splitter
from lithos.search.values import RESTRICTED, Where
from lithos.storage import read_file, watch_folder

if TYPE_CHECKING:
    import numpy as np
    import tantivy
    from numpy.typing import NDArray

    from lithos.search.collection.columns import Mask

T = TypeVar("T")
TEXT_ONLY = {"text": 1.0}
TEXT_FIELDS = ("text", "title", "names")  # each with its own length norm
Clause = tuple[Any, "tantivy.Query"]
Scored = tuple[int, int, float]  # ordinal, position, score
Stamp = tuple[int, int, int, int]  # inode and date of the folder and of the table of contents
FileStamps = dict[str, tuple[int, int, int]]  # size and dates of each file of a segment
MOST_PASS = 0.5  # share of all documents from which on a filter is applied to what was found
MOST_FREQUENCIES = 10_000  # terms whose frequency is kept until the next commit
HEAP = 30_000_000  # 4,000 documents of code make one segment; with 15 MB, the least, two that are merged at once
MANIFEST = "manifest.json"
MANAGED = ".managed.json"  # tantivy's list of the files that it may delete
_REGEX_META = frozenset("\\.+*?()|[]{}^$#&-~")
_SYSTEM_ERROR = re.compile(r"(?:os error |code: )(\d+)")
_OF_THE_MACHINE = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
)
_FOOTER = struct.Struct("<II")  # length of tantivy's JSON footer, magic number


class TextIndex:
    """Documents of one schema. `ordinal` names the version of a thing: never reused, deleted when the thing changes."""

    def __init__(self, folder: Path, numbers: Sequence[str], *, of_passages: bool = False) -> None:
        self._describe(folder, numbers, of_passages=of_passages)
        self._sweep()
        self._verify()
        self._beside: tempfile.TemporaryDirectory[str] | None = None
        self._stamp: Stamp | None = None  # None: a commit is under way
        self._files: FileStamps = {}
        try:
            self._open_at(folder)
        except Unavailable:
            if os.access(folder, os.W_OK):
                raise
            self._beside = _linked(folder)
            self._open_at(Path(self._beside.name))

    def _open_at(self, folder: Path) -> None:
        self._index = opened_at(folder, self.schema)
        self.searcher = self._index.searcher()
        self._watched = watch_folder(self._folder)
        self._files = self._files_now()
        self._stamp = self._stamp_now()

    def _describe(self, folder: Path, numbers: Sequence[str], *, of_passages: bool) -> None:
        self._folder = folder
        self._folder_name = str(folder)
        self._meta_name = f"{folder}/meta.json"
        self._of_passages = of_passages
        self._text_fields = TEXT_FIELDS[:1] if of_passages else TEXT_FIELDS
        self.numbers = frozenset(numbers)
        self.schema = _schema(numbers)
        self._counted: _Counts | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, removed: Iterable[int], added: Iterable[tantivy.Document]) -> None:
        """One commit; afterwards no merge is under way, so that the manifest is the whole truth about the files."""
        import tantivy

        if self._beside is not None:
            self._open_at(self._folder)
            self._beside = None
        self._stamp = None
        with engine("writing the full-text index"):
            writer: tantivy.IndexWriter | None = None
            try:
                writer = self._index.writer(HEAP, 1)
                for ordinal in removed:
                    # By query: deleting by the term itself silently deletes nothing for numbers in tantivy 0.27.
                    writer.delete_documents_by_query(tantivy.Query.term_query(self.schema, "ordinal", ordinal))
                for document in added:
                    writer.add_document(document)
                writer.commit()
                writer.wait_merging_threads()
            finally:
                writer = None  # the traceback of a failed commit would keep it, and with it the index's lock
            self._index.reload()
            self.searcher = self._index.searcher()
        self._write_manifest()
        self._sweep()
        files = self._files_now()
        self._files = {name: self._files.get(name, stamp) for name, stamp in files.items()}  # old ones never change
        self._stamp = self._stamp_now()

    def _sweep(self) -> None:
        """Remove the temporary files that tantivy leaves when it is killed. No writer may be open."""
        with contextlib.suppress(OSError):  # a read-only disk: they are in no one's way
            for leftover in self._folder.glob(".tmp*"):
                leftover.unlink(missing_ok=True)

    def segments(self) -> list[dict[str, Any]]:
        """As tantivy's table of contents lists them."""
        try:
            found: list[dict[str, Any]] = json.loads(read_file(self._folder / "meta.json"))["segments"]
        except (ValueError, KeyError, TypeError):
            raise Damaged("the table of contents of the full-text index cannot be read") from None
        return found

    def deleted(self) -> int:
        """Documents that are gone, and still in the way: BM25 counts them until the index is rebuilt."""
        return int(sum(segment["max_doc"] for segment in self.segments()) - self.searcher.num_docs)

    def files(self) -> list[Path]:
        """Of all segments."""
        return [self._folder / name for name in self._files]

    def contents(self) -> Counter[int]:
        """How many documents each ordinal has, as the engine itself would find them."""
        import tantivy

        with engine("reading the full-text index"):
            searcher = self.searcher
            if not searcher.num_docs:
                return Counter()
            hits = searcher.search(tantivy.Query.all_query(), searcher.num_docs, count=False).hits
            ordinals = searcher.fast_field_values("ordinal", [address for _, address in hits])
            return Counter(int(each) if each is not None else -1 for each in ordinals)

    def exists(self) -> bool:
        return (self._folder / "meta.json").exists()  # an index that is open has one, however little is in it

    def is_there(self) -> bool:
        """Whether its folder is where it was opened: what happens to a folder above it makes no event here."""
        return os.path.lexists(self._folder_name)

    def is_untouched(self) -> bool:
        """Whether no other program added, removed, replaced or wrote into a file since our last commit. A commit under
        way changes them itself. The files are looked at only if something happened in their folder since the last look,
        as far as `gather_events` has read."""
        stamp = self._stamp
        if stamp is None:
            return self.exists()
        if self._watched.is_quiet():
            return True
        self._watched.looking()
        same = stamp == self._stamp_now() and self._are_unwritten(self._files)
        if not same:
            self._watched.stir()
        return same or self._stamp is not stamp  # a commit began or ended meanwhile

    def _are_unwritten(self, files: FileStamps) -> bool:
        folder = self._folder_name
        try:
            for name, known in files.items():
                if _file_stamp(os.stat(f"{folder}/{name}")) != known:  # noqa: PTH116 many, and at every question
                    return False
        except OSError:
            return False
        return True

    def _files_now(self) -> FileStamps:
        """Of all that the table of contents names."""
        try:
            return {path.name: _file_stamp(path.stat()) for path in self._segment_files()}
        except (OSError, Damaged):
            return {}

    def _stamp_now(self) -> Stamp:
        """By the folder, which changes with every name in it, and the table of contents."""
        try:
            folder, meta = os.stat(self._folder_name), os.stat(self._meta_name)  # noqa: PTH116 often
        except OSError:
            return (0, 0, 0, 0)
        return (folder.st_ino, folder.st_mtime_ns, meta.st_ino, meta.st_mtime_ns)

    def verify(self) -> None:
        """Raise `Damaged` unless every file is the one that was written."""
        if not self.exists():
            raise Damaged("the full-text index is gone")
        self._watched = watch_folder(self._folder)  # it may be another folder than the one that was opened
        stamp, files = self._stamp_now(), self._files_now()
        self._verify()
        if self.deleted() < 0:
            raise Damaged("the table of contents of the full-text index names less than is open")
        self._stamp, self._files = stamp, files

    def _verify(self) -> None:
        if not (self._folder / "meta.json").exists():
            if any(self._folder.glob("*.idx")) or (self._folder / MANIFEST).exists():
                raise Damaged("the full-text index has lost its table of contents")
            return
        known, meta = self._manifest(), _digest(self._folder / "meta.json")
        if known.get("meta.json") == meta:
            wrong = [name for name, digest in known.items() if _digest(self._folder / name) != digest]
        else:  # a kill between tantivy's commit and ours: each file carries its own checksum
            wrong = [path.name for path in self._segment_files() if not _sound(path)]
        wrong += self._unmanaged()
        if wrong:
            raise Damaged(f"files of the full-text index are not what was written: {', '.join(sorted(wrong)[:3])}")

    def _unmanaged(self) -> list[str]:
        """A kill before a commit leaves more in that list than our manifest could know, and no harm; less is damage."""
        try:
            listed = set(json.loads(read_file(self._folder / MANAGED)))
        except (OSError, ValueError, TypeError, Damaged):
            return [MANAGED]
        return [] if listed.issuperset(path.name for path in self._segment_files()) else [MANAGED]

    def _manifest(self) -> dict[str, str]:
        try:
            read = json.loads(read_file(self._folder / MANIFEST))
        except FileNotFoundError:
            return {}
        except ValueError:
            raise Damaged("the manifest of the full-text index cannot be read") from None
        if not isinstance(read, dict):
            raise Damaged("the manifest of the full-text index is not one")
        return read

    def _segment_files(self) -> list[Path]:
        try:
            names = [segment["segment_id"].replace("-", "") for segment in self.segments()]
        except (KeyError, TypeError, AttributeError):
            raise Damaged("the table of contents of the full-text index cannot be read") from None
        return [path for name in names for path in self._folder.glob(f"{name}.*")]

    def _write_manifest(self) -> None:
        """Files of tantivy never change once written: only names not seen before are read."""
        known = self._manifest()
        names = sorted({"meta.json"} | {path.name for path in self._segment_files()})
        fresh = set(names).difference(known) | {"meta.json"}
        digests = {name: _digest(self._folder / name) if name in fresh else known[name] for name in names}
        unfinished = self._folder / f"{MANIFEST}.part"
        unfinished.write_text(json.dumps(digests), encoding="utf-8")
        unfinished.replace(self._folder / MANIFEST)

    def search(self, query: tantivy.Query, limit: int) -> list[Scored]:
        """Best first."""
        searcher = self.searcher
        with engine("searching"):
            hits: list[tuple[Any, Any]] = searcher.search(query, limit, count=False).hits
            if not hits:
                return []
            addresses = [address for _, address in hits]
            ordinals: list[Any] = searcher.fast_field_values("ordinal", addresses)
            positions: list[Any] = [0]
            if self._of_passages:
                positions = searcher.fast_field_values("position", addresses)
        if None in ordinals or None in positions or min(ordinals) < 0 or min(positions) < 0:
            raise Damaged("the full-text index names what cannot be")
        places = positions if self._of_passages else itertools.repeat(0)
        return [(ordinal, at, score) for ordinal, at, (score, _) in zip(ordinals, places, hits, strict=False)]

    def best(self, query: tantivy.Query, limit: int, where: Where, mask: Mask) -> list[Scored]:
        """The best that the filter lets through. `mask`, if given, says the same as `where`.

        A filter that most documents pass costs tantivy half of the question, since it can no longer skip what cannot
        be among the best: then more are asked for, and what does not pass is dropped, unless too few are left.
        """
        if where.is_open:
            return self.search(query, limit)
        if mask is not None and (passing := _share(mask)) >= MOST_PASS:
            wanted = int(1.1 * limit / passing) + 10
            found = self.search(query, wanted)
            kept = _passing(found, mask)
            if len(kept) >= limit or len(found) < wanted:
                return kept[:limit]
        return self.search(self.filtered(query, where), limit)

    def any_of(
        self, terms: Sequence[str], also: Iterable[tantivy.Query] = (), weights: Mapping[str, float] = TEXT_ONLY
    ) -> tantivy.Query:
        """Documents with any of the terms in any of the fields, each counted as often as the question says it."""
        import tantivy

        clauses = [(tantivy.Occur.Should, query) for query in also]
        for term, times in Counter(terms).items():
            for field, weight in weights.items():
                query = tantivy.Query.term_query(self.schema, field, term)
                boosted = tantivy.Query.boost_query(query, times * weight) if times * weight != 1 else query
                clauses.append((tantivy.Occur.Should, boosted))
        return tantivy.Query.boolean_query(clauses)

    def having(self, terms: Sequence[str], field: str, weight: float) -> list[tantivy.Query]:
        """Documents that have a term in this field, however long it is and however often."""
        import tantivy

        found = []
        for term, times in Counter(terms).items():
            if having := self.frequency(term, field):
                query = tantivy.Query.term_query(self.schema, field, term)
                found.append(tantivy.Query.const_score_query(query, times * weight * self.weight_of(having)))
        return found

    def together(self, terms: Sequence[str]) -> tantivy.Query:
        import tantivy

        phrases = [tantivy.Query.phrase_query(self.schema, field, [*terms]) for field in self._text_fields]
        return tantivy.Query.disjunction_max_query(phrases) if len(phrases) > 1 else phrases[0]

    def filtered(self, query: tantivy.Query, where: Where) -> tantivy.Query:
        """The same scores, among the documents that the filter lets through."""
        import tantivy

        if where.is_open:
            return query
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), *self._conditions(where)])

    def among(self, query: tantivy.Query, ordinals: Sequence[int]) -> tantivy.Query:
        """These documents, scored by the query; those that it does not match score nothing."""
        import tantivy

        these = tantivy.Query.term_set_query(self.schema, "ordinal", list(ordinals))
        must = (tantivy.Occur.Must, tantivy.Query.const_score_query(these, 0.0))
        return tantivy.Query.boolean_query([must, (tantivy.Occur.Should, query)])

    def _conditions(self, where: Where) -> Iterator[Clause]:
        for tag in where.tags:
            yield self._must(self.exactly("tag", tag))
        if where.author is not None:
            yield self._must(self.exactly("author", where.author))
        if where.path_prefix:
            yield self._must(starting_with(self.schema, "path", where.path_prefix))
        for name, values in where.any_of.items():
            yield self._must(self.keyword(name, values))
        yield from self._excluded(where)
        for name, (low, high) in where.between.items():
            yield self._must(self.between(name, low, high))

    def _must(self, query: tantivy.Query) -> Clause:
        import tantivy

        return tantivy.Occur.Must, tantivy.Query.const_score_query(query, 0.0)

    def _excluded(self, where: Where) -> Iterator[Clause]:
        import tantivy

        for name, values in where.none_of.items():
            yield tantivy.Occur.MustNot, self.keyword(name, values)
        for name, values in where.only_for.items():
            hidden = [(tantivy.Occur.Must, self.exactly("keyword", f"{name}={RESTRICTED}"))]
            hidden += [(tantivy.Occur.MustNot, self.keyword(name, values))] if values else []
            yield tantivy.Occur.MustNot, tantivy.Query.boolean_query(hidden)

    def exactly(self, field: str, value: str) -> tantivy.Query:
        import tantivy

        return tantivy.Query.term_query(self.schema, field, value)

    def keyword(self, name: str, values: Sequence[str]) -> tantivy.Query:
        import tantivy

        if len(values) == 1:  # a list that is there already, and not a set of all its documents made for this question
            return self.exactly("keyword", f"{name}={values[0]}")
        return tantivy.Query.term_set_query(self.schema, "keyword", [f"{name}={value}" for value in values])

    def between(
        self, name: str, low: float | None, high: float | None, *, include_low: bool = True, include_high: bool = True
    ) -> tantivy.Query:
        import tantivy

        if name not in self.numbers:
            return tantivy.Query.empty_query()
        least = -math.inf if low is None else low
        most = math.inf if high is None else high
        return tantivy.Query.range_query(
            self.schema, f"number_{name}", tantivy.FieldType.Float, least, most, include_low, include_high
        )

    def frequency(self, term: str, field: str | None = None) -> int:
        """In how many documents a term is, in this field or in the one that has it most."""
        return self._frequency(self._counts(), term, field)

    def weight(self, term: str, field: str | None = None) -> float:
        return self.weight_of(self.frequency(term, field))

    def weight_of(self, having: int, least: int = 0) -> float:
        """The idf of BM25, as tantivy has it, of a term that so many documents have, among at least so many; a term
        that no document has weighs most."""
        count = max(self._counts().documents, least)
        return math.log(1 + (max(count - having, 0) + 0.5) / (having + 0.5))

    def _counts(self) -> _Counts:
        searcher = self.searcher
        if self._counted is None or searcher is not self._counted.searcher:
            self._counted = _Counts(searcher, searcher.num_docs, {})
        return self._counted

    def _frequency(self, counts: _Counts, term: str, field: str | None) -> int:
        if (found := counts.frequencies.get((term, field))) is None:
            fields = [field] if field else self._text_fields
            found = max(int(counts.searcher.doc_freq(each, term)) for each in fields)
            if len(counts.frequencies) < MOST_FREQUENCIES:
                counts.frequencies[term, field] = found
        return found


def opened_at(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    """Its searcher changes with `reload` alone."""
    import tantivy

    with engine("opening the full-text index"):
        index = tantivy.Index(schema, path=str(folder))
        index.register_tokenizer("lithos", splitter())
        index.register_tokenizer("whole", splitter())
        index.config_reader("manual")
        index.reload()
        return index


class _Counts(NamedTuple):
    """Counts of one searcher: good until the next commit."""

    searcher: Any
    documents: int
    frequencies: dict[tuple[str, str | None], int]


def _linked(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """The same index where tantivy may make its lock file: even a reader needs one, and this disk is read-only."""
    beside = tempfile.TemporaryDirectory(prefix="lithos-")
    for file in folder.iterdir():
        (Path(beside.name) / file.name).symlink_to(file.absolute())
    for lock in Path(beside.name).glob("*.lock"):
        lock.unlink()
    return beside


def _share(mask: NDArray[np.bool_]) -> float:
    import numpy as np

    return float(np.count_nonzero(mask)) / max(len(mask), 1)


def _passing(found: list[Scored], mask: NDArray[np.bool_]) -> list[Scored]:
    """Documents newer than the mask do not pass."""
    ordinals = [each[0] for each in found]
    if max(ordinals, default=-1) >= len(mask):
        return [each for each in found if each[0] < len(mask) and mask[each[0]]]
    return list(itertools.compress(found, mask[ordinals].tolist()))


def starting_with(schema: tantivy.Schema, field: str, prefix: str) -> tantivy.Query:
    import tantivy

    literal = "".join(f"\\{character}" if character in _REGEX_META else character for character in prefix)
    return tantivy.Query.regex_query(schema, field, f"{literal}(?s:.)*")


def _schema(numbers: Sequence[str]) -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for field in TEXT_FIELDS:
        builder.add_text_field(field, tokenizer_name="lithos")
        builder.add_text_field(f"{field}_whole", tokenizer_name="whole", index_option="basic")
    for field in ("tag", "author", "path", "keyword"):
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("ordinal", indexed=True, fast=True)
    builder.add_integer_field("position", fast=True)
    for name in numbers:
        builder.add_float_field(f"number_{name}", fast=True)
    return builder.build()


@contextlib.contextmanager
def engine(doing: str) -> Iterator[None]:
    """tantivy's failures as ours. The machine's own (disk full, no permission) are worth another try and wipe nothing;
    any other is one that we did not expect: damage.

    Its panics are BaseExceptions, which `except Exception` lets through.
    """
    try:
        yield
    except BaseException as failure:
        panicked = type(failure).__name__ == "PanicException"
        if not panicked and not isinstance(failure, (OSError, RuntimeError, ValueError, SystemError)):
            raise
        message = f"{doing} failed: {str(failure)[:200]}"
        if _errno(failure) in _OF_THE_MACHINE:
            raise Unavailable(message, hint="Call again.") from failure
        raise Damaged(message, hint="Call again: the index is rebuilt.") from failure


def _errno(failure: BaseException) -> int | None:
    """tantivy gives the number of a system error in the text alone."""
    if isinstance(failure, OSError) and failure.errno is not None:
        return failure.errno
    found = _SYSTEM_ERROR.search(str(failure))
    return int(found[1]) if found else None


def guarded(work: Callable[[], T]) -> T | None:
    """None where a query cannot be built: a bad pattern, a value that does not fit its field."""
    try:
        with engine("reading the query"):
            return work()
    except (Damaged, Unavailable):
        return None


def _file_stamp(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _digest(path: Path) -> str:
    try:
        return sha256_hex(read_file(path))
    except (FileNotFoundError, Damaged):
        return ""


def _sound(path: Path) -> bool:
    """tantivy writes a CRC at the end of each file, and never looks at it."""
    data = read_file(path)
    try:
        length, _ = _FOOTER.unpack(data[-_FOOTER.size :])
        body_end = len(data) - _FOOTER.size - length
        return bool(json.loads(data[body_end : -_FOOTER.size])["crc"] == zlib.crc32(data[:body_end]))
    except (struct.error, ValueError, KeyError, TypeError):
        return False
