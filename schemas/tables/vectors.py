"""pgvector's type, for columns that hold what a text means."""

from typing import Any

from sqlalchemy.types import UserDefinedType

DIMS = 512


class Vector(UserDefinedType[str]):
    """Values travel as text."""

    cache_ok = True

    def __init__(self, dims: int) -> None:
        self.dims = dims

    def get_col_spec(self, **_: Any) -> str:
        return f"vector({self.dims})"
