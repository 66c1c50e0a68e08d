//! Tables: Parquet files of run directories, and summaries, as Arrow.

use crate::columns::Columns;
use crate::errors::failed;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use fairwave_lab::axes::AxisKind;
use fairwave_lab::results::{Summary, read_summary, series_in};
use fairwave_lab::run::Run;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::iter::repeat_n;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table that others take through Arrow's C stream interface, without a copy.
#[pyclass(frozen, module = "fairwave._fairwave")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// The table as an Arrow C stream, which pyarrow, polars, pandas and DuckDB read. A requested
    /// schema is ignored, as the interface permits.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// Descriptions of the columns that have one, by name.
    #[getter]
    fn descriptions(&self) -> Vec<(&str, &str)> {
        let of = |name| Some((name, self.schema.metadata().get(&description_of(name))?));
        let found = self.column_names().into_iter().filter_map(of);
        found.map(|(name, text)| (name, text.as_str())).collect()
    }
}

/// Reads a Parquet file.
#[pyfunction]
pub(crate) fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    py.detach(|| read(&path)).map_err(|error| failed(format!("{}: {error}", path.display())))
}

fn read(path: &Path) -> Result<Table, ArrowError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let schema = Arc::clone(reader.schema());
    let batches = reader.build()?.collect::<Result<Vec<_>, _>>()?;
    Ok(Table { schema, batches })
}

/// Names of the series in a run directory.
#[pyfunction]
pub(crate) fn series_of(directory: PathBuf) -> PyResult<Vec<String>> {
    series_in(&directory).map_err(failed)
}

/// The summary in a run directory as a table: of `flows`, `queues`, `stations` or `pairs`.
#[pyfunction]
pub(crate) fn summary_table(directory: PathBuf, rows: &str) -> PyResult<Table> {
    let summary = read_summary(&directory).map_err(failed)?;
    let (batch, _) = Rows::named(rows)?.of(&[&summary])?;
    Ok(Table { schema: batch.schema(), batches: vec![batch] })
}

/// Lists of a summary that are tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    Flows,
    Queues,
    Stations,
    Pairs,
}

impl Rows {
    pub(crate) fn named(name: &str) -> PyResult<Self> {
        match name {
            "flows" => Ok(Self::Flows),
            "queues" => Ok(Self::Queues),
            "stations" => Ok(Self::Stations),
            "pairs" => Ok(Self::Pairs),
            _ => Err(PyValueError::new_err(format!(
                "there is no table {name:?}; there are flows, queues, stations and pairs"
            ))),
        }
    }

    /// The rows of all summaries, and how many each has.
    fn of(self, summaries: &[&Summary]) -> PyResult<(RecordBatch, Vec<usize>)> {
        match self {
            Self::Flows => batch(summaries.iter().map(|summary| &summary.flows[..])),
            Self::Queues => batch(summaries.iter().map(|summary| &summary.queues[..])),
            Self::Stations => batch(summaries.iter().map(|summary| &summary.stations[..])),
            Self::Pairs => batch(summaries.iter().map(|summary| &summary.pairs[..])),
        }
    }
}

/// The rows of several lists as a batch, and how many each list has; parts of a row become columns
/// of their own, `part.name`.
fn batch<'a, T: JsonSchema + Serialize + 'a>(
    lists: impl Iterator<Item = &'a [T]>,
) -> PyResult<(RecordBatch, Vec<usize>)> {
    let (mut rows, mut counts) = (Vec::new(), Vec::new());
    for list in lists {
        rows.extend(list);
        counts.push(list.len());
    }
    let Columns { fields, descriptions } = Columns::of(schema_for!(T).as_value());
    let nested = serde_arrow::to_record_batch(&fields, &rows).map_err(failed)?;
    let flat = nested.normalize(".", None).map_err(failed)?;
    let described = descriptions.into_iter().map(|(name, text)| (description_of(&name), text));
    let schema = Schema::clone(&flat.schema()).with_metadata(described.collect::<BTreeMap<_, _>>());
    Ok((flat.with_schema(Arc::new(schema)).map_err(failed)?, counts))
}

/// Key of a column's description, as the tables of run directories have it.
fn description_of(column: &str) -> String {
    format!("{column}.description")
}

/// A key of a sweep, and the type of its column.
pub(crate) struct Axis {
    pub(crate) key: String,
    pub(crate) kind: DataType,
}

impl Axis {
    /// The key with all of its values: whole numbers, numbers, or else text.
    pub(crate) fn new<'a>(key: &str, values: impl Iterator<Item = &'a str>) -> Self {
        let kind = match AxisKind::of(values) {
            AxisKind::Integer => DataType::Int64,
            AxisKind::Number => DataType::Float64,
            AxisKind::Text => DataType::Utf8,
        };
        Self { key: key.to_owned(), kind }
    }

    /// A column with each run's value in as many rows as the run has.
    fn column(&self, runs: &[Run], counts: &[usize]) -> ArrayRef {
        let values = runs.iter().zip(counts).flat_map(|(run, &count)| {
            let value = run.axis(&self.key);
            repeat_n(value, count)
        });
        match self.kind {
            DataType::Int64 => {
                Arc::new(Int64Array::from_iter(values.map(|value| value.parse().ok())))
            }
            DataType::Float64 => {
                Arc::new(Float64Array::from_iter(values.map(|value| value.parse().ok())))
            }
            _ => Arc::new(StringArray::from_iter(values.map(Some))),
        }
    }
}

/// The rows of many runs, each with its seed and its values of the axes, and how many each run has.
pub(crate) fn of_runs(runs: &[Run], axes: &[Axis], rows: Rows) -> PyResult<(Table, Vec<usize>)> {
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let (results, counts) = rows.of(&summaries)?;
    let mut fields: Vec<FieldRef> = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for axis in axes {
        fields.push(Arc::new(Field::new(&axis.key, axis.kind.clone(), true)));
        columns.push(axis.column(runs, &counts));
    }
    let seeds = runs.iter().zip(&counts).flat_map(|(run, &count)| repeat_n(run.seed, count));
    fields.push(Arc::new(Field::new("seed", DataType::UInt64, false)));
    columns.push(Arc::new(UInt64Array::from_iter_values(seeds)));
    fields.extend(results.schema().fields().iter().cloned());
    columns.extend(results.columns().iter().cloned());
    let schema = Schema::new_with_metadata(fields, results.schema().metadata().clone());
    let batch = RecordBatch::try_new(Arc::new(schema), columns).map_err(failed)?;
    Ok((Table { schema: batch.schema(), batches: vec![batch] }, counts))
}
