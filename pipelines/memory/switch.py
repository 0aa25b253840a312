"""Whether replies of an organisation may look things up."""


def may_recall(own: bool | None, everywhere: bool | None) -> bool:
    """`own` is the organisation's `ai_rag_enabled`, `everywhere` is AI_RAG_GLOBAL_ENABLED. The organisation's word
    counts first; where nobody said anything, its documents may be used: it gave them for that."""
    if own is not None:
        return own
    return everywhere is not False
