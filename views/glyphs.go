package views

// glyph is a sign that stands before a word; it is one cell wide in both forms.
type glyph int

const (
	glyphIdle    glyph = iota // nothing happens, nothing is wrong
	glyphRun                  // it works
	glyphSlow                 // it works, but not well
	glyphAsk                  // it waits for a person
	glyphBad                  // it needs someone
	glyphDone                 // it ended well
	glyphFail                 // it ended badly
	glyphSkip                 // it was left out
	glyphUnknown              // unknown
	glyphLine                 // a horizontal line
	glyphBar                  // a vertical line
	glyphUp                   // sorted from small to great
	glyphDown                 // sorted from great to small
	glyphBranch               // a child with later siblings or none: the corner of a tree
	glyphs
)

var glyphForms = [glyphs]struct{ ascii, normal string }{
	glyphIdle:    {".", "·"},
	glyphRun:     {">", "●"},
	glyphSlow:    {"~", "◐"},
	glyphAsk:     {"?", "?"},
	glyphBad:     {"!", "▲"},
	glyphDone:    {"+", "✓"},
	glyphFail:    {"x", "■"},
	glyphSkip:    {"-", "-"},
	glyphUnknown: {"?", "?"},
	glyphLine:    {"-", "─"},
	glyphBar:     {"|", "│"},
	glyphUp:      {"^", "↑"},
	glyphDown:    {"v", "↓"},
	glyphBranch:  {"`", "└"},
}

// glyph is g in the form that the screen can show.
func (o *Opts) glyph(g glyph) string {
	if o.ASCII {
		return glyphForms[g].ascii
	}
	return glyphForms[g].normal
}
