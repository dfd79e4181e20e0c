"""Collections: full text, vectors and filter fields under one small interface."""

from __future__ import annotations

from lithos.search.collection.answers import Finish
from lithos.search.collection.collection import Collection, open_collection
from lithos.search.collection.passages import PassageLimits
from lithos.search.embedding.background import Embedding
from lithos.search.embedding.embedder import Embedder, HashedEmbedder, open_embedder
from lithos.search.embedding.reranker import RERANKER_UNUSABLE, Reranker, open_reranker
from lithos.search.malloc import give_back_memory
from lithos.search.projector import ComparedFeed, Feed, JournalFeed, Projector
from lithos.search.text.analysis import query_terms
from lithos.search.values import (
    RESTRICTED,
    Bounds,
    By,
    CollectionStatus,
    Document,
    DocumentChange,
    Hit,
    Neighbour,
    Passage,
    Query,
    Remove,
    SearchResult,
    SequencePlace,
    Where,
    place_in,
)

__all__ = [
    "RERANKER_UNUSABLE",
    "RESTRICTED",
    "Bounds",
    "By",
    "Collection",
    "CollectionStatus",
    "ComparedFeed",
    "Document",
    "DocumentChange",
    "Embedder",
    "Embedding",
    "Feed",
    "Finish",
    "HashedEmbedder",
    "Hit",
    "JournalFeed",
    "Neighbour",
    "Passage",
    "PassageLimits",
    "Projector",
    "Query",
    "Remove",
    "Reranker",
    "SearchResult",
    "SequencePlace",
    "Where",
    "give_back_memory",
    "open_collection",
    "open_embedder",
    "open_reranker",
    "place_in",
    "query_terms",
]
