//! Pictures of tensors: which elements differ, as a grid of cells. The last dimension runs to the right, the others downward.
//!
//! A cell of a large tensor stands for several elements. Tables show the values.

use cerith_tile::DType;

use crate::event::{Contents, Differs, Exhibit, Storage, View};

/// Cells of a picture at most, to the right and downward.
const COLUMNS: usize = 64;
const ROWS: usize = 24;

/// A tensor, and where two engines differ in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The tensor's name.
    pub tensor: String,
    /// Its dtype and shape, as Python writes a shape.
    pub tensor_type: String,
    /// The number of elements in a cell, downward and to the right.
    pub cell: [usize; 2],
    /// How many elements, or rows of elements, one row of cells is further than the one above it.
    pub step: usize,
    /// The cells, row by row.
    pub rows: Vec<Vec<Cell>>,
    /// Elements that differ.
    pub differing: usize,
    /// Whether more of the storage differs than is known here.
    pub is_partial: bool,
}

/// The state of the elements of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// All are the same.
    Same,
    /// Some differ.
    Some,
    /// All differ.
    All,
    /// None differs, and some have no defined value.
    Undefined,
}

impl Cell {
    /// Its character in the picture.
    pub const fn letter(self) -> char {
        match self {
            Self::Same => '.',
            Self::Some => '+',
            Self::All => '#',
            Self::Undefined => '?',
        }
    }
}

/// A tensor's layout in its storage.
struct Layout<'e> {
    name: &'e str,
    dtype: DType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
}

impl<'e> Layout<'e> {
    fn of_view(view: &'e View) -> Option<Self> {
        Some(Self {
            name: &view.name,
            dtype: view.dtype.parse().ok()?,
            shape: view.shape.clone(),
            strides: view.strides.clone(),
            offset: view.offset,
        })
    }

    fn of_storage(storage: &'e Storage) -> Option<Self> {
        let mut strides = vec![1i64; storage.shape.len()];
        for nth in (1..storage.shape.len()).rev() {
            let next = strides.get(nth)?.checked_mul((*storage.shape.get(nth)?).max(1))?;
            *strides.get_mut(nth - 1)? = next;
        }
        Some(Self {
            name: &storage.name,
            dtype: storage.dtype.parse().ok()?,
            shape: storage.shape.clone(),
            strides,
            offset: 0,
        })
    }

    /// Elements downward and to the right. A tensor of one dimension is broken into lines.
    fn extents(&self) -> [usize; 2] {
        let sizes: Vec<usize> = self
            .shape
            .iter()
            .map(|&extent| usize::try_from(extent).unwrap_or(0))
            .collect();
        match sizes.as_slice() {
            [] => [1, 1],
            &[only] => [only.div_ceil(COLUMNS), only.min(COLUMNS)],
            [rows @ .., columns] => [
                rows.iter().fold(1, |all, &extent| all.saturating_mul(extent)),
                *columns,
            ],
        }
    }

    /// The first byte of an element, by its row and column; `None` past the last.
    fn find_byte(&self, row: usize, column: usize) -> Option<u64> {
        let [_, columns] = self.extents();
        let mut left = row.checked_mul(columns)?.checked_add(column)?;
        let mut element = self.offset;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            let extent = usize::try_from(extent).ok().filter(|&extent| extent > 0)?;
            element = element.checked_add(stride.checked_mul((left % extent) as i64)?)?;
            left /= extent;
        }
        (left == 0)
            .then(|| u64::try_from(element).ok()?.checked_mul(self.dtype.size() as u64))
            .flatten()
    }
}

/// The pictures of two engines' memory: of each tensor with a difference, or otherwise of the storage.
pub fn build_tiles(exhibit: &Exhibit, baseline: &str, engine: &str) -> Vec<Tile> {
    let of_pair = |differs: &&Differs| differs.baseline == baseline && differs.engine == engine;
    let mut tiles = Vec::new();
    for differs in exhibit.differs.iter().filter(of_pair) {
        let contents = exhibit
            .memory
            .iter()
            .find(|contents| contents.storage == differs.storage);
        let views = exhibit
            .views
            .iter()
            .filter(|view| view.storage == differs.storage)
            .filter_map(Layout::of_view);
        let mut of_views: Vec<Tile> = views
            .filter_map(|layout| build_tile(&layout, differs, contents))
            .filter(|tile| tile.differing > 0)
            .collect();
        if of_views.is_empty() {
            let storage = exhibit
                .storages
                .iter()
                .find(|storage| storage.name == differs.storage);
            let whole = storage.and_then(Layout::of_storage);
            of_views.extend(whole.and_then(|layout| build_tile(&layout, differs, contents)));
        }
        tiles.append(&mut of_views);
    }
    tiles
}

/// The maximum number of elements that are compared for one picture.
const MAX_ELEMENTS: usize = 1 << 22;

fn build_tile(layout: &Layout<'_>, differs: &Differs, contents: Option<&Contents>) -> Option<Tile> {
    let [down, right] = layout.extents();
    if down == 0 || right == 0 || down.checked_mul(right)? > MAX_ELEMENTS {
        return None;
    }
    let cell = [down.div_ceil(ROWS), right.div_ceil(COLUMNS)];
    let undefined = contents.map_or(&[] as &[_], |contents| contents.undefined.as_slice());
    let size = layout.dtype.size() as u64;
    let mut differing = 0;
    let mut rows = Vec::with_capacity(ROWS);
    for top in (0..down).step_by(cell[0]) {
        let mut row = Vec::with_capacity(COLUMNS);
        for left in (0..right).step_by(cell[1]) {
            let (mut all, mut other, mut open) = (0, 0, 0);
            for at in top..(top + cell[0]).min(down) {
                for column in left..(left + cell[1]).min(right) {
                    let Some(byte) = layout.find_byte(at, column) else {
                        continue;
                    };
                    all += 1;
                    other += usize::from(has_overlap(&differs.spans, byte, size));
                    open += usize::from(has_overlap(undefined, byte, size));
                }
            }
            differing += other;
            if all > 0 {
                row.push(match (other, open) {
                    (0, 0) => Cell::Same,
                    (0, _) => Cell::Undefined,
                    _ if other == all => Cell::All,
                    _ => Cell::Some,
                });
            }
        }
        rows.push(row);
    }
    let shape: Vec<String> = layout.shape.iter().map(ToString::to_string).collect();
    Some(Tile {
        tensor: layout.name.to_owned(),
        tensor_type: format!("{} [{}]", layout.dtype, shape.join(", ")),
        cell,
        // A line of a one-dimensional tensor begins at an element, and is not a row.
        step: if layout.shape.len() == 1 {
            cell[0] * right
        } else {
            cell[0]
        },
        rows,
        differing,
        is_partial: differs.more,
    })
}

/// Whether one of the ranges, which are in order, has a byte of an element.
fn has_overlap(spans: &[[u64; 2]], byte: u64, size: u64) -> bool {
    let behind = spans.partition_point(|span| span[1] <= byte);
    spans.get(behind).is_some_and(|span| span[0] < byte + size)
}

impl Tile {
    /// The subject of the picture.
    pub fn heading(&self) -> String {
        let each = match self.cell {
            [1, 1] => String::new(),
            [down, right] => format!(", a character is {down} x {right} elements"),
        };
        let more = if self.is_partial {
            ", more of it differs"
        } else {
            ""
        };
        format!(
            "{} {}: {} differ{each}{more}",
            self.tensor, self.tensor_type, self.differing
        )
    }

    /// The meaning of the picture's characters.
    pub fn legend(&self) -> String {
        let meanings = [
            (Cell::All, "differs"),
            (Cell::Some, "differs in part"),
            (Cell::Undefined, "no defined value"),
            (Cell::Same, "same"),
        ];
        let shown = meanings
            .iter()
            .filter(|(cell, _)| self.rows.iter().flatten().any(|other| other == cell));
        let words: Vec<String> = shown
            .map(|(cell, meaning)| format!("{} {meaning}", cell.letter()))
            .collect();
        words.join("   ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw_tiles(views: Vec<View>, storage: Storage, spans: &[[u64; 2]], undefined: &[[u64; 2]]) -> String {
        let exhibit = Exhibit {
            differs: vec![Differs {
                baseline: "reference".to_owned(),
                engine: "other".to_owned(),
                storage: storage.name.clone(),
                spans: spans.to_vec(),
                more: false,
            }],
            memory: vec![Contents {
                storage: storage.name.clone(),
                undefined: undefined.to_vec(),
                ..Contents::default()
            }],
            views,
            storages: vec![storage],
            ..Exhibit::default()
        };
        let mut text = String::new();
        for tile in build_tiles(&exhibit, "reference", "other") {
            text.push_str(&tile.heading());
            text.push('\n');
            for row in &tile.rows {
                text.extend(row.iter().map(|cell| cell.letter()));
                text.push('\n');
            }
            text.push_str(&tile.legend());
            text.push('\n');
        }
        text
    }

    fn build_storage(dtype: &str, shape: &[i64]) -> Storage {
        Storage {
            name: "out".to_owned(),
            dtype: dtype.to_owned(),
            shape: shape.to_vec(),
            ..Storage::default()
        }
    }

    #[test]
    fn a_storage_is_drawn_where_it_differs() {
        let text = draw_tiles(
            Vec::new(),
            build_storage("f32", &[4, 6]),
            &[[4, 8], [40, 48]],
            &[[92, 96]],
        );
        insta::assert_snapshot!(text, @r"
        out f32 [4, 6]: 3 differ
        .#....
        ....##
        ......
        .....?
        # differs   ? no defined value   . same
        ");
    }

    #[test]
    fn views_are_drawn_by_their_strides() {
        let view = |name: &str, shape: &[i64], strides: &[i64], offset| View {
            name: name.to_owned(),
            storage: "out".to_owned(),
            dtype: "f16".to_owned(),
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset,
        };
        let views = vec![
            view("turned", &[6, 4], &[1, 6], 0),
            view("right", &[4, 2], &[6, 1], 4),
            view("apart", &[2, 2], &[6, 1], 0),
        ];
        let text = draw_tiles(views, build_storage("f16", &[4, 6]), &[[8, 10], [22, 24]], &[]);
        insta::assert_snapshot!(text, @r"
        turned f16 [6, 4]: 2 differ
        ....
        ....
        ....
        ....
        #...
        .#..
        # differs   . same
        right f16 [4, 2]: 2 differ
        #.
        .#
        ..
        ..
        # differs   . same
        ");
    }

    #[test]
    fn a_large_tensor_gets_larger_cells() {
        let text = draw_tiles(Vec::new(), build_storage("i8", &[128, 1024]), &[[0, 20_000]], &[]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "out i8 [128, 1024]: 20000 differ, a character is 6 x 16 elements"
        );
        assert!(lines.len() <= 2 + ROWS && lines[1].len() == COLUMNS, "{text}");
        let line = draw_tiles(Vec::new(), build_storage("i8", &[100]), &[[99, 100]], &[]);
        assert!(line.contains("...#\n"), "{line}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(draw_tiles(Vec::new(), build_storage("f32", &[0]), &[], &[]), "");
        assert_eq!(draw_tiles(Vec::new(), build_storage("", &[]), &[[0, 4]], &[]), "");
    }
}
