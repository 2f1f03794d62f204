//! A table as a Parquet file: typed columns, compressed by zstd, in row groups.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use bytes::Bytes;
use jiff::Timestamp;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value as Json;

use crate::view::{Column, Kind, Rows, SCHEMA_VERSION, ValueRef, ViewError};

/// Rows of a row group: what DuckDB and others work on at a time.
const ROWS: usize = 122_880;

/// Bytes of values that are held in memory before a row group is written.
const HELD: usize = 32 << 20;

/// Bytes that a row takes of each column beside its value.
const LEVELS: usize = 4;

/// Writes rows as a Parquet file; gives their number. Memory: two row groups, each some 32 MB as plain values, and one
/// of them as pages: a thread of its own writes one while the next is read.
///
/// Texts are `STRING`, whole numbers `INT64`, times `TIMESTAMP` in UTC milliseconds, lists `LIST` of strings or of groups, objects JSON in
/// a `STRING`. The metadata holds `crawl.schema_version`, `crawl.table` and `crawl.program`.
pub fn write_parquet(rows: &mut Rows<'_>, out: &mut (dyn Write + Send)) -> Result<u64, ViewError> {
    let mut columns: Vec<Buffer> = rows.columns().iter().map(Buffer::new).collect();
    let table = rows.table();
    let schema = schema(rows.columns()).map_err(error)?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_created_by(concat!("crawl ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![
            KeyValue::new("crawl.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
            KeyValue::new("crawl.table".to_owned(), table.name().to_owned()),
            KeyValue::new("crawl.program".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ]));
    for column in rows.columns().iter().filter(|column| column.has_few_values) {
        let path = ColumnPath::from(column.name.as_ref());
        properties = properties.set_column_dictionary_enabled(path, true);
    }
    let properties = Arc::new(properties.build());
    let file = SerializedFileWriter::new(out, schema, properties).map_err(error)?;
    thread::scope(|scope| {
        // One group is written while the next one is read.
        let (full, groups) = sync_channel(0);
        let (empty, emptied) = channel();
        empty.send(rows.columns().iter().map(Buffer::new).collect()).map_err(io::Error::other)?;
        let write = move || write_groups(file, &groups, &empty).map_err(error);
        let writer = thread::Builder::new().name("parquet".to_owned()).spawn_scoped(scope, write)?;
        let read = read_groups(rows, &mut columns, &full, &emptied);
        drop(full);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // Where the writer failed, that is why the reader ended.
        written.and(read)
    })
}

/// What the reader hands to the writer.
enum Group {
    Full(Vec<Buffer>),
    /// All rows were read without an error.
    End,
}

/// Fills buffers with rows and hands them over; gives the number of rows.
fn read_groups(
    rows: &mut Rows<'_>,
    columns: &mut Vec<Buffer>,
    full: &SyncSender<Group>,
    emptied: &Receiver<Vec<Buffer>>,
) -> Result<u64, ViewError> {
    // A writer that has ended says itself why.
    let ended = || ViewError::Write(io::Error::other("the writer ended"));
    let (mut count, mut held, mut in_group) = (0, 0, 0);
    loop {
        let has_row = rows.next_with(|place, value| {
            if let Some(buffer) = columns.get_mut(place) {
                held += buffer.push(in_group, value)?;
            }
            Ok(())
        })?;
        count += u64::from(has_row);
        in_group += usize::from(has_row);
        held += columns.len() * LEVELS * usize::from(has_row);
        if in_group == ROWS || held >= HELD || !has_row && in_group > 0 {
            columns.iter_mut().try_for_each(|column| column.nulls_up_to(in_group))?;
            let next = emptied.recv().map_err(|_| ended())?;
            full.send(Group::Full(std::mem::replace(columns, next))).map_err(|_| ended())?;
            (held, in_group) = (0, 0);
        }
        if !has_row {
            full.send(Group::End).map_err(|_| ended())?;
            return Ok(count);
        }
    }
}

/// Writes row groups, and the end of the file behind the last one. Where the reader failed the file has no end, so that nobody takes it for whole.
fn write_groups(
    mut file: SerializedFileWriter<&mut (dyn Write + Send)>,
    groups: &Receiver<Group>,
    empty: &Sender<Vec<Buffer>>,
) -> Result<(), ParquetError> {
    let mut arrays = Vec::new();
    loop {
        match groups.recv() {
            Ok(Group::Full(mut columns)) => {
                write_group(&mut file, &mut columns, &mut arrays)?;
                // The reader may have failed meanwhile.
                drop(empty.send(columns));
            }
            Ok(Group::End) => return file.close().map(drop),
            Err(_) => return Ok(()),
        }
    }
}

/// The error of the system, where it is one.
fn error(error: ParquetError) -> ViewError {
    let error = match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    };
    ViewError::Write(error)
}

fn physical(kind: Kind) -> Physical {
    match kind {
        Kind::Text | Kind::Object | Kind::List => Physical::BYTE_ARRAY,
        Kind::Integer | Kind::Time => Physical::INT64,
        Kind::Number => Physical::DOUBLE,
        Kind::Boolean => Physical::BOOLEAN,
    }
}

fn logical(kind: Kind) -> Option<LogicalType> {
    match kind {
        Kind::Text | Kind::Object | Kind::List => Some(LogicalType::String),
        Kind::Time => Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
        Kind::Integer | Kind::Number | Kind::Boolean => None,
    }
}

fn leaf(name: &str, kind: Kind, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    let builder = Type::primitive_type_builder(name, physical(kind));
    builder.with_repetition(repetition).with_logical_type(logical(kind)).build().map(Arc::new)
}

fn repetition(column: &Column) -> Repetition {
    if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED }
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|column| {
        if column.kind != Kind::List {
            return leaf(&column.name, column.kind, repetition(column));
        }
        let element = if column.members.is_empty() {
            leaf("element", Kind::Text, Repetition::REQUIRED)?
        } else {
            let members = column.members.iter().map(|(name, kind)| leaf(name, *kind, Repetition::REQUIRED));
            let group = Type::group_type_builder("element").with_repetition(Repetition::REQUIRED);
            Arc::new(group.with_fields(members.collect::<Result<_, _>>()?).build()?)
        };
        let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
        let list = Arc::new(list.with_fields(vec![element]).build()?);
        let whole = Type::group_type_builder(&column.name).with_repetition(repetition(column));
        let whole = whole.with_logical_type(Some(LogicalType::List)).with_fields(vec![list]);
        whole.build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("row").with_fields(fields).build().map(Arc::new)
}

/// The values of one leaf of the schema.
#[derive(Debug, Default)]
struct Leaf {
    texts: Vec<u8>,
    /// Where each text ends.
    ends: Vec<usize>,
    integers: Vec<i64>,
    numbers: Vec<f64>,
    booleans: Vec<bool>,
}

/// What is held of one column.
#[derive(Debug)]
struct Buffer {
    name: String,
    kind: Kind,
    nullable: bool,
    /// The kinds of the leaves: one, or one for each member of a list's elements.
    kinds: Vec<(&'static str, Kind)>,
    leaves: Vec<Leaf>,
    /// How many rows it has.
    rows: usize,
    /// How much of the path to the value is there, where it may be missing or is a list.
    definitions: Vec<i16>,
    /// 0 where a row begins, 1 behind; of lists.
    repetitions: Vec<i16>,
}

impl Buffer {
    fn new(column: &Column) -> Self {
        let kinds = match column.kind {
            Kind::List if column.members.is_empty() => vec![("", Kind::Text)],
            Kind::List => column.members.to_vec(),
            kind => vec![("", kind)],
        };
        Self {
            name: column.name.to_string(),
            kind: column.kind,
            nullable: column.nullable,
            leaves: kinds.iter().map(|_| Leaf::default()).collect(),
            kinds,
            rows: 0,
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }
    }

    /// Fills the rows with nulls, up to this one.
    fn nulls_up_to(&mut self, row: usize) -> Result<(), ViewError> {
        let nulls = row - self.rows;
        if nulls == 0 {
            return Ok(());
        }
        if !self.nullable {
            return Err(self.misfit(ValueRef::Null));
        }
        self.rows = row;
        self.definitions.resize(self.definitions.len() + nulls, 0);
        if self.kind == Kind::List {
            self.repetitions.resize(self.repetitions.len() + nulls, 0);
        }
        Ok(())
    }

    /// Takes the value of a row, which isn't null; gives the bytes that it takes.
    fn push(&mut self, row: usize, value: ValueRef<'_>) -> Result<usize, ViewError> {
        self.nulls_up_to(row)?;
        self.rows += 1;
        if self.kind == Kind::List {
            return self.push_list(value);
        }
        if self.nullable {
            self.definitions.push(1);
        }
        let leaf = &mut self.leaves[0];
        let before = leaf.texts.len();
        match value {
            ValueRef::Text(text) => leaf.text(text),
            ValueRef::Compound { json, .. } => leaf.text(json),
            ValueRef::Integer(number) => leaf.integers.push(i64::try_from(number).unwrap_or(i64::MAX)),
            ValueRef::Time(at) => leaf.integers.push(at),
            ValueRef::Number(number) => leaf.numbers.push(number),
            ValueRef::Boolean(value) => leaf.booleans.push(value),
            ValueRef::Null => return Err(self.misfit(value)),
        }
        Ok(8 + leaf.texts.len() - before)
    }

    fn push_list(&mut self, value: ValueRef<'_>) -> Result<usize, ViewError> {
        let present = i16::from(self.nullable);
        let ValueRef::Compound { json, .. } = value else { return Err(self.misfit(value)) };
        if json == "[]" {
            self.definitions.push(present);
            self.repetitions.push(0);
            return Ok(0);
        }
        if self.kinds[0].0.is_empty() {
            let (first, bytes) = (self.definitions.len(), self.leaves[0].texts.len());
            let read = Texts(&mut self.leaves[0]).deserialize(&mut serde_json::Deserializer::from_str(json));
            let count = read.map_err(|_| self.misfit(value))?;
            self.definitions.resize(first + count, present + 1);
            self.repetitions.push(0);
            self.repetitions.resize(first + count, 1);
            return Ok(8 * count + self.leaves[0].texts.len() - bytes);
        }
        let members: Vec<Json> = serde_json::from_str(json).map_err(|_| self.misfit(value))?;
        let mut held = 0;
        for (index, member) in members.iter().enumerate() {
            self.definitions.push(present + 1);
            self.repetitions.push(i16::from(index > 0));
            for (leaf, (name, kind)) in self.leaves.iter_mut().zip(&self.kinds) {
                let value = &member[*name];
                let before = leaf.texts.len();
                match kind {
                    Kind::Integer => leaf.integers.push(value.as_i64().unwrap_or_default()),
                    Kind::Number => leaf.numbers.push(value.as_f64().unwrap_or_default()),
                    Kind::Boolean => leaf.booleans.push(value.as_bool().unwrap_or_default()),
                    Kind::Time => {
                        let time = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
                        leaf.integers.push(time.map_or(0, Timestamp::as_millisecond));
                    }
                    Kind::Text | Kind::List | Kind::Object => match value.as_str() {
                        Some(text) => leaf.text(text),
                        None => leaf.text(&value.to_string()),
                    },
                }
                held += 8 + leaf.texts.len() - before;
            }
        }
        Ok(held)
    }

    /// A value that its column can't hold: a fault of the program.
    fn misfit(&self, value: ValueRef<'_>) -> ViewError {
        let what = format!("column {} holds {value:?}, which is no {}", self.name, self.kind.name());
        ViewError::Write(io::Error::other(what))
    }

    /// Writes what is held, leaf by leaf, and forgets it.
    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, &mut (dyn Write + Send)>,
        arrays: &mut Vec<ByteArray>,
    ) -> Result<(), ParquetError> {
        let definitions = (!self.definitions.is_empty()).then_some(self.definitions.as_slice());
        let repetitions = (!self.repetitions.is_empty()).then_some(self.repetitions.as_slice());
        for (leaf, (_, kind)) in self.leaves.iter_mut().zip(&self.kinds) {
            let Some(mut writer) = group.next_column()? else { break };
            let texts = leaf.write(*kind, &mut writer, definitions, repetitions, arrays)?;
            writer.close()?;
            // Nobody else has them any more: their memory is that of the next texts.
            if texts.is_unique() {
                leaf.texts = Vec::from(texts);
                leaf.texts.clear();
            }
        }
        self.rows = 0;
        self.definitions.clear();
        self.repetitions.clear();
        Ok(())
    }
}

impl Leaf {
    fn text(&mut self, text: &str) {
        self.texts.extend_from_slice(text.as_bytes());
        self.ends.push(self.texts.len());
    }

    /// Writes what is held, and forgets it; gives the memory of the texts. `arrays` is empty, and again afterwards.
    fn write(
        &mut self,
        kind: Kind,
        writer: &mut SerializedColumnWriter<'_>,
        definitions: Option<&[i16]>,
        repetitions: Option<&[i16]>,
        arrays: &mut Vec<ByteArray>,
    ) -> Result<Bytes, ParquetError> {
        let texts = Bytes::from(std::mem::take(&mut self.texts));
        match physical(kind) {
            Physical::INT64 => {
                writer.typed::<Int64Type>().write_batch(&self.integers, definitions, repetitions)?;
                self.integers.clear();
            }
            Physical::DOUBLE => {
                writer.typed::<DoubleType>().write_batch(&self.numbers, definitions, repetitions)?;
                self.numbers.clear();
            }
            Physical::BOOLEAN => {
                writer.typed::<BoolType>().write_batch(&self.booleans, definitions, repetitions)?;
                self.booleans.clear();
            }
            _ => {
                let mut from = 0;
                arrays.extend(
                    self.ends
                        .drain(..)
                        .map(|end| ByteArray::from(texts.slice(std::mem::replace(&mut from, end)..end))),
                );
                writer.typed::<ByteArrayType>().write_batch(arrays, definitions, repetitions)?;
                arrays.clear();
            }
        }
        Ok(texts)
    }
}

/// Reads a list of texts into a leaf; gives their number.
struct Texts<'a>(&'a mut Leaf);

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<usize, A::Error> {
        let mut count = 0;
        while members.next_element_seed(Text(self.0))?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

/// Reads a text into a leaf.
struct Text<'a>(&'a mut Leaf);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.0.text(text);
        Ok(())
    }
}

fn write_group(
    file: &mut SerializedFileWriter<&mut (dyn Write + Send)>,
    columns: &mut [Buffer],
    arrays: &mut Vec<ByteArray>,
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        column.write(&mut group, arrays)?;
    }
    group.close()?;
    Ok(())
}
