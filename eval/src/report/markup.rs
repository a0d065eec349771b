//! Writing HTML and SVG. Elements close themselves, and every text and attribute is escaped here and nowhere else.

use std::fmt::{self, Display, Write};

/// Attributes of an element.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

/// Markup as far as it is written.
#[derive(Default)]
pub(super) struct Markup {
    text: String,
}

impl Markup {
    /// An element; `content` writes what is in it.
    pub(super) fn element(&mut self, tag: &str, attributes: Attributes<'_>, content: impl FnOnce(&mut Markup)) {
        self.start(tag, attributes);
        self.text.push('>');
        content(self);
        self.text.push_str("</");
        self.text.push_str(tag);
        self.text.push('>');
    }

    /// An element that holds only text.
    pub(super) fn leaf(&mut self, tag: &str, attributes: Attributes<'_>, text: impl Display) {
        self.element(tag, attributes, |inside| inside.text(text));
    }

    /// An element without content or end: in HTML a void element, in SVG an empty one.
    pub(super) fn empty(&mut self, tag: &str, attributes: Attributes<'_>) {
        self.start(tag, attributes);
        self.text.push_str("/>");
    }

    /// Text.
    pub(super) fn text(&mut self, text: impl Display) {
        write!(Escaped(&mut self.text), "{text}").expect("a string takes everything");
    }

    /// A line break, so that no line of the file gets too long.
    pub(super) fn line(&mut self) {
        self.text.push('\n');
    }

    /// Text of this program's own, as it is: the doctype, styles, the script.
    pub(super) fn own(&mut self, text: &'static str) {
        self.text.push_str(text);
    }

    /// Data for the script.
    pub(super) fn data(&mut self, id: &str, value: &serde_json::Value) {
        self.start("script", &[("type", &"application/json"), ("id", &id)]);
        self.text.push('>');
        // A `<` stands only inside strings; as an escape it cannot end the element.
        self.text.push_str(&value.to_string().replace('<', "\\u003c"));
        self.text.push_str("</script>");
    }

    /// The whole text.
    pub(super) fn finish(self) -> String {
        self.text
    }

    fn start(&mut self, tag: &str, attributes: Attributes<'_>) {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            write!(self.text, " {name}=\"").expect("a string takes everything");
            self.text(value);
            self.text.push('"');
        }
    }
}

/// Takes text and writes it with what markup reserves replaced.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_attributes_and_data_are_escaped() {
        let mut markup = Markup::default();
        markup.element("p", &[("title", &"\"a\" & b"), ("x", &1.5)], |p| {
            p.text("1 < 2 > '0'");
            p.empty("br", &[]);
        });
        markup.data("d", &serde_json::json!(["</script>"]));
        let expected = "<p title=\"&quot;a&quot; &amp; b\" x=\"1.5\">1 &lt; 2 &gt; &#39;0&#39;<br/></p>\
            <script type=\"application/json\" id=\"d\">[\"\\u003c/script>\"]</script>";
        assert_eq!(markup.finish(), expected);
    }
}
