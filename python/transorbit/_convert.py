"""Tables and series for pandas and xarray, which are used only here and only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transorbit import _columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def _package(name: str, method: str) -> Any:
    """The package.

    Raises:
        ImportError: it is not installed; the message says what to install.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{method}() needs {name}: pip install 'transorbit[notebook]', or pip install {name}"
        ) from error


def to_pandas(table: pl.DataFrame) -> Any:
    """Returns the table as a `pandas.DataFrame`; a missing number is NaN."""
    pandas = _package("pandas", "to_pandas")
    columns = {column.name: column.to_numpy() if column.dtype.is_numeric() else column.to_list() for column in table}
    return pandas.DataFrame(columns)


def to_xarray(table: pl.DataFrame, dims: Sequence[str], attributes: dict[str, Any]) -> Any:
    """A `xarray.Dataset` with a dimension for each of the columns `dims`, and the other columns of numbers over them.

    Each variable has its label and its unit as attributes.
    """
    import polars as pl

    xarray = _package("xarray", "to_xarray")
    coordinates = {name: table[name].unique(maintain_order=True).to_list() for name in dims}
    grid = pl.DataFrame({dims[0]: coordinates[dims[0]]}, schema={dims[0]: table.schema[dims[0]]})
    for name in dims[1:]:
        grid = grid.join(pl.DataFrame({name: coordinates[name]}, schema={name: table.schema[name]}), how="cross")
    whole = grid.join(table, on=list(dims), how="left", maintain_order="left")
    shape = [len(values) for values in coordinates.values()]
    variables = {}
    for name in table.columns:
        if name in dims or not (table.schema[name].is_numeric() or table.schema[name] == pl.Boolean):
            continue
        text, unit = _columns.label(name), _columns.in_words(name)[1]
        about = {"long_name": text} | ({"units": unit} if unit else {})
        variables[name] = (tuple(dims), whole[name].cast(pl.Float64).to_numpy().reshape(shape), about)
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)
