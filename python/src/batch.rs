//! Rows as Arrow record batches. The types are those of the Parquet export: texts `Utf8`, whole numbers `Int64`, times `Timestamp` in UTC
//! milliseconds, lists of texts or of structs, objects JSON in `Utf8`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
    TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use crawler::view::{Column, Kind, Rows, SCHEMA_VERSION, Table, Value};
use jiff::Timestamp;
use serde_json::Value as Json;

use crate::reading::{Failure, Out, Reading};

/// Rows of a batch at most.
const ROWS: usize = 16_384;

/// Bytes of values of a batch, about.
const BYTES: usize = 8 << 20;

/// The zone of times.
const UTC: &str = "UTC";

/// The schema of a table with these columns. Its metadata are those of the Parquet export; a field's say its unit.
pub(crate) fn schema(table: Table, columns: &[Column]) -> SchemaRef {
    let metadata = [
        ("crawl.schema_version", SCHEMA_VERSION.to_string()),
        ("crawl.table", table.name().to_owned()),
        ("crawl.program", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let metadata: HashMap<_, _> =
        metadata.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let fields: Fields = columns.iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::List => DataType::List(element(column)),
        kind => data_type(kind),
    };
    let unit = Some(column.unit).filter(|unit| !unit.is_empty());
    let metadata: HashMap<_, _> = unit.map(|unit| ("unit".to_owned(), unit.to_owned())).into_iter().collect();
    Field::new(column.name.as_ref(), kind, column.nullable).with_metadata(metadata)
}

/// What a list holds, by the names of Parquet.
fn element(column: &Column) -> FieldRef {
    let kind = if column.members.is_empty() { DataType::Utf8 } else { DataType::Struct(members(column)) };
    Arc::new(Field::new("element", kind, false))
}

fn members(column: &Column) -> Fields {
    column.members.iter().map(|(name, kind)| Field::new(*name, data_type(*kind), false)).collect()
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Text | Kind::Object | Kind::List => DataType::Utf8,
        Kind::Integer => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Time => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
    }
}

fn times() -> TimestampMillisecondBuilder {
    TimestampMillisecondBuilder::new().with_timezone(UTC)
}

/// The values of one column, as they come.
enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Boolean(BooleanBuilder),
    Time(TimestampMillisecondBuilder),
    Texts(ListBuilder<StringBuilder>),
    Structs(ListBuilder<StructBuilder>, &'static [(&'static str, Kind)]),
}

impl Builder {
    fn new(column: &Column) -> Self {
        match column.kind {
            Kind::Text | Kind::Object => Self::Text(StringBuilder::new()),
            Kind::Integer => Self::Integer(Int64Builder::new()),
            Kind::Number => Self::Number(Float64Builder::new()),
            Kind::Boolean => Self::Boolean(BooleanBuilder::new()),
            Kind::Time => Self::Time(times()),
            Kind::List if column.members.is_empty() => {
                Self::Texts(ListBuilder::new(StringBuilder::new()).with_field(element(column)))
            }
            Kind::List => {
                let builders = column.members.iter().map(|(_, kind)| -> Box<dyn ArrayBuilder> {
                    match kind {
                        Kind::Text | Kind::Object | Kind::List => Box::new(StringBuilder::new()),
                        Kind::Integer => Box::new(Int64Builder::new()),
                        Kind::Number => Box::new(Float64Builder::new()),
                        Kind::Boolean => Box::new(BooleanBuilder::new()),
                        Kind::Time => Box::new(times()),
                    }
                });
                let structs = StructBuilder::new(members(column), builders.collect());
                Self::Structs(ListBuilder::new(structs).with_field(element(column)), column.members)
            }
        }
    }

    /// Takes a value; gives the bytes that it takes, or none where it isn't of this kind: a fault of the program.
    fn push(&mut self, value: &Value) -> Option<usize> {
        let mut held = 8;
        match (self, value) {
            (Self::Text(builder), Value::Text(text) | Value::Compound { json: text, .. }) => {
                held += text.len();
                builder.append_value(text);
            }
            (Self::Text(builder), Value::Null) => builder.append_null(),
            (Self::Integer(builder), Value::Integer(number)) => {
                builder.append_value(i64::try_from(*number).unwrap_or(i64::MAX));
            }
            (Self::Integer(builder), Value::Null) => builder.append_null(),
            (Self::Number(builder), Value::Number(number)) => builder.append_value(*number),
            (Self::Number(builder), Value::Null) => builder.append_null(),
            (Self::Boolean(builder), Value::Boolean(value)) => builder.append_value(*value),
            (Self::Boolean(builder), Value::Null) => builder.append_null(),
            (Self::Time(builder), Value::Time(at)) => builder.append_value(*at),
            (Self::Time(builder), Value::Null) => builder.append_null(),
            (Self::Texts(builder), Value::Null) => builder.append_null(),
            (Self::Texts(builder), Value::Compound { json, .. }) => {
                held += json.len();
                for member in list(json)? {
                    builder.values().append_value(text_of(&member));
                }
                builder.append(true);
            }
            (Self::Structs(builder, _), Value::Null) => builder.append_null(),
            (Self::Structs(builder, members), Value::Compound { json, .. }) => {
                held += json.len();
                for member in list(json)? {
                    push_struct(builder.values(), members, &member)?;
                }
                builder.append(true);
            }
            _ => return None,
        }
        Some(held)
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Integer(builder) => Arc::new(builder.finish()),
            Self::Number(builder) => Arc::new(builder.finish()),
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Time(builder) => Arc::new(builder.finish()),
            Self::Texts(builder) => Arc::new(builder.finish()),
            Self::Structs(builder, _) => Arc::new(builder.finish()),
        }
    }
}

/// The members of a list.
fn list(json: &str) -> Option<Vec<Json>> {
    if json == "[]" { Some(Vec::new()) } else { serde_json::from_str(json).ok() }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn push_struct(builder: &mut StructBuilder, members: &[(&'static str, Kind)], member: &Json) -> Option<()> {
    for (place, (name, kind)) in members.iter().enumerate() {
        let value = &member[*name];
        match kind {
            Kind::Text | Kind::Object | Kind::List => {
                builder.field_builder::<StringBuilder>(place)?.append_value(text_of(value));
            }
            Kind::Integer => builder.field_builder::<Int64Builder>(place)?.append_value(value.as_i64()?),
            Kind::Number => builder.field_builder::<Float64Builder>(place)?.append_value(value.as_f64()?),
            Kind::Boolean => builder.field_builder::<BooleanBuilder>(place)?.append_value(value.as_bool()?),
            Kind::Time => {
                let time: Timestamp = value.as_str()?.parse().ok()?;
                let builder = builder.field_builder::<TimestampMillisecondBuilder>(place)?;
                builder.append_value(time.as_millisecond());
            }
        }
    }
    builder.append(true);
    Some(())
}

/// Makes record batches of rows.
pub(crate) fn batches(rows: Rows<'_>, out: &Out<RecordBatch>) -> Result<(), Failure> {
    let schema = schema(rows.table(), rows.columns());
    let columns = rows.columns().to_vec();
    let mut builders: Vec<_> = columns.iter().map(Builder::new).collect();
    let finish = |builders: &mut [Builder]| {
        let arrays = builders.iter_mut().map(Builder::finish).collect();
        RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|error| Failure::Other(error.to_string()))
    };
    let (mut count, mut held) = (0, 0);
    for row in rows {
        for ((builder, value), column) in builders.iter_mut().zip(&row?).zip(&columns) {
            held += builder.push(value).ok_or_else(|| {
                let (name, kind) = (&column.name, column.kind.name());
                Failure::Other(format!("column {name} holds {value:?}, which is no {kind}"))
            })?;
        }
        count += 1;
        if count == ROWS || held >= BYTES {
            if !out.send(finish(&mut builders)?) {
                return Ok(());
            }
            (count, held) = (0, 0);
        }
    }
    if count > 0 {
        out.send(finish(&mut builders)?);
    }
    Ok(())
}

/// A reading as other Arrow libraries take it. It never asks for Python's lock, so that they may call it from any thread.
pub(crate) struct Reader {
    pub(crate) schema: SchemaRef,
    pub(crate) reading: Arc<Reading<RecordBatch>>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.reading.next(|| Ok::<_, Failure>(()));
        // What Arrow libraries raise as an error of the system (OSError in pyarrow), with these words.
        next.map_err(|error| ArrowError::IoError(error.to_string(), std::io::Error::other(error))).transpose()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
