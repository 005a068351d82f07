//! Tables handed to Python as Arrow data, without copying: any dataframe library takes them.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, ArrayRef, Float64Array, StringArray, StructArray, UInt64Array};
use arrow_schema::{DataType, Field, Fields};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sim::{Column, Table};

/// A table that implements the Arrow PyCapsule interface: `polars.DataFrame(table)` takes it.
#[pyclass(module = "transorbit._core", frozen)]
pub(crate) struct ArrowTable {
    array: StructArray,
}

impl From<Table> for ArrowTable {
    fn from(table: Table) -> ArrowTable {
        let rows = table.rows();
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = table.columns.into_iter().map(column).unzip();
        let array = StructArray::try_new_with_length(Fields::from(fields), arrays, None, rows)
            .expect("the columns of a table are equally long");
        ArrowTable { array }
    }
}

fn column((name, column): (&str, Column)) -> (Field, ArrayRef) {
    let (kind, array): (DataType, ArrayRef) = match column {
        Column::Float(values) if values.iter().any(|v| v.is_nan()) => {
            let known = values.into_iter().map(|v| (!v.is_nan()).then_some(v));
            (DataType::Float64, Arc::new(Float64Array::from_iter(known)))
        }
        Column::Float(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
        Column::Count(values) => (DataType::UInt64, Arc::new(UInt64Array::from(values))),
        Column::Number(values) => (DataType::UInt64, Arc::new(UInt64Array::from(values))),
        Column::Text(values) => (DataType::Utf8, Arc::new(StringArray::from_iter(values))),
    };
    (Field::new(name, kind, true), array)
}

#[pymethods]
impl ArrowTable {
    /// The Arrow PyCapsule interface: schema and data as a struct array.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema; // the interface allows to ignore it
        let array = FFI_ArrowArray::new(&self.array.to_data());
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// The Arrow PyCapsule interface: the schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.array.data_type())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.array.len()
    }
}
