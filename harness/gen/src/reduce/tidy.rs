//! The same kernel with less text: no comments, no needless blank lines, no parentheses that change nothing.

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange};

use super::candidate::{Candidate, Change, Edit, squeeze_blank_lines};
use super::tree::{Tree, to_text_size};

/// The file without comments and without parentheses that are not needed, and each of both.
pub(super) fn tidy_file(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let bare = without_parentheses(&without_comments(tree));
    let all = TextRange::new(to_text_size(0), to_text_size(tree.text.len()));
    let whole = |text: String| Change::from_edits(vec![Edit::new(all, text)]);
    let mut changes = Vec::new();
    for text in [
        bare,
        squeeze_blank_lines(&without_comments(tree)),
        without_parentheses(tree.text),
    ] {
        if text != tree.text {
            changes.push(whole(text));
        }
    }
    changes
}

fn without_comments(tree: &Tree<'_>) -> String {
    let mut text = String::new();
    let mut at = to_text_size(0);
    for token in tree.tokens() {
        if token.kind() == TokenKind::Comment {
            text.push_str(tree.slice(TextRange::new(at, token.start())));
            at = token.end();
        }
    }
    text.push_str(tree.slice(TextRange::new(at, to_text_size(tree.text.len()))));
    squeeze_blank_lines(&text)
}

/// Takes pairs of parentheses away for as long as the tree stays the same.
fn without_parentheses(text: &str) -> String {
    let mut now = text.to_owned();
    let mut from = 0;
    // Every turn takes a pair away or goes past one.
    'next: loop {
        let Some(tree) = Tree::parse(&now) else {
            return now;
        };
        for (first, last) in match_parentheses(&tree)
            .into_iter()
            .filter(|(first, _)| *first >= from)
        {
            let mut fewer = now.clone();
            if fewer.get(last..=last) != Some(")") || fewer.get(first..=first) != Some("(") {
                continue;
            }
            fewer.remove(last);
            fewer.remove(first);
            let same = Tree::parse(&fewer).is_some_and(|other| {
                let both = tree.body().iter().zip(other.body());
                tree.body().len() == other.body().len()
                    && both
                        .into_iter()
                        .all(|(a, b)| ComparableStmt::from(a) == ComparableStmt::from(b))
            });
            if same {
                from = first;
                now = fewer;
                continue 'next;
            }
        }
        return now;
    }
}

/// The places of matching parentheses.
fn match_parentheses(tree: &Tree<'_>) -> Vec<(usize, usize)> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    for token in tree.tokens() {
        match token.kind() {
            TokenKind::Lpar => open.push(token.start().to_usize()),
            TokenKind::Rpar => {
                if let Some(first) = open.pop() {
                    found.push((first, token.start().to_usize()));
                }
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found
}
