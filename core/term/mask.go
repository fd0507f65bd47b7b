package term

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MinMasked is the length in bytes from which the exact values of secrets are masked in what tools print (HF23). A shorter
// value would be found in common text.
const MinMasked = 8

// quotedForms are v as it stands inside a JSON string.
func quotedForms(v string) []string {
	var forms []string
	for _, html := range []bool{false, true} {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(v) == nil {
			forms = append(forms, strings.Trim(strings.TrimSpace(b.String()), `"`))
		}
	}
	return forms
}

// Mask returns s with every known value of at least MinMasked bytes masked, and nothing else: unlike Redact it does not
// touch what only looks like a secret. Values that are encoded, in base64 for instance, stay.
func (r *Redactor) Mask(s string) string {
	if r == nil {
		return s
	}
	return r.known.Load().masker.Replace(s)
}

// Masker is Mask for text that comes in pieces, wherever the pieces are cut. The zero value masks nothing.
type Masker struct {
	known *Redactor
	held  []byte // the end of what came, which begins a value
}

// Masker returns a Masker of the known values. r may be nil.
func (r *Redactor) Masker() Masker { return Masker{known: r} }

// Next returns what is certain after the next piece. It holds back an end that may go on to be a secret. The result is valid
// until the next call, and may share the memory of piece.
func (m *Masker) Next(piece []byte) []byte {
	if m.known == nil {
		return piece
	}
	known := m.known.known.Load()
	if len(known.masked) == 0 && len(m.held) == 0 {
		return piece
	}
	text := piece
	if len(m.held) > 0 {
		text = append(m.held, piece...)
	}
	whole := string(text)
	var out []byte // what is certain of text[:at]; unused while nothing was masked
	at, masked := 0, false
	for {
		from, to := known.find(whole[at:])
		hold := known.begins(whole[at:])
		if to == 0 || hold <= from { // what begins there may become a longer value
			m.held = bytes.Clone(text[at+hold:])
			if !masked {
				return text[:at+hold]
			}
			return append(out, text[at:at+hold]...)
		}
		masked = true
		out = append(append(out, text[at:at+from]...), Mask...)
		at += to
	}
}

// Rest returns what Next holds back, as it may be shown: masked if it is so long a part of a secret as a secret must be to be
// one.
func (m *Masker) Rest() []byte {
	if len(m.held) >= MinMasked {
		return []byte(Mask)
	}
	return m.held
}

// find returns the bounds of the first value in text, the longest of those that begin there; to is 0 if there is none.
func (r *secrets) find(text string) (from, to int) {
	from = len(text)
	for _, v := range r.masked { // the longest first
		if i := strings.Index(text[:min(len(text), from+len(v))], v); i >= 0 && i < from {
			from, to = i, i+len(v)
		}
	}
	return from, to
}

// begins returns the first index at which text ends with the beginning of a value; len(text) if there is none.
func (r *secrets) begins(text string) int {
	first := len(text)
	for _, v := range r.masked {
		for i := max(0, len(text)-len(v)+1); i < first; i++ {
			next := strings.IndexByte(text[i:first], v[0])
			if next < 0 {
				break
			}
			if i += next; strings.HasPrefix(v, text[i:]) {
				first = i
			}
		}
	}
	return first
}
