package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// maxNamed is how many lines an answer about an edit names.
const maxNamed = 20

// Edited is what an edit did.
type Edited struct {
	Path     string `json:"path"`
	Replaced int    `json:"replaced"`
	// Lines are the numbers of the lines where the new text begins, as they are now; the first few.
	Lines []int `json:"lines"`
	Bytes int   `json:"bytes"`
}

// Edit replaces an exact text in a file, which must occur once there unless all is set. Where every line of the file ends with
// CRLF, the ends of lines in both texts are CRLF. A file that another program changes meanwhile is left as it is.
func (f *Folder) Edit(ctx context.Context, name, before, after string, all bool) (Edited, error) {
	p, err := f.find(name, false)
	if err != nil {
		return Edited{}, err
	}
	defer p.close()
	if p.info == nil {
		return Edited{}, errMissing
	}
	e := Edited{Path: p.path()}
	var was []byte
	err = p.replace(ctx, func() ([]byte, error) {
		if was, err = p.content(ctx); err != nil {
			return nil, err
		}
		now, err := e.change(was, before, after, all)
		if err != nil {
			return nil, err
		}
		return now, p.mayWrite()
	}, func() error { return p.unchanged(ctx, was) })
	return e, err
}

// unchanged is an error if the place's file has another content.
func (p *place) unchanged(ctx context.Context, content []byte) error {
	is, err := p.content(ctx)
	if err == nil && !bytes.Equal(is, content) {
		err = errors.New("another program changed it meanwhile, and it was left as it is; read it again")
	}
	return err
}

// change is the content after the edit.
func (e *Edited) change(content []byte, before, after string, all bool) ([]byte, error) {
	if bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0 {
		return nil, fmt.Errorf("it is binary (%s), not a text", http.DetectContentType(content))
	}
	text := string(content)
	if crlf := strings.Count(text, "\r\n"); crlf > 0 && crlf == strings.Count(text, "\n") {
		before, after = toCRLF(before), toCRLF(after)
	}
	if before == after {
		return nil, errors.New("the old and the new text are the same; nothing was changed")
	}
	at := occurrences(text, before)
	switch {
	case len(at) == 0:
		return nil, missing(text, before)
	case len(at) > 1 && !all:
		return nil, fmt.Errorf("the old text occurs in lines %s; give more of the text around the one that is meant, or set all to true", named(text, at))
	}
	now := strings.Replace(text, before, after, 1)
	if e.Replaced = 1; all {
		e.Replaced, now = strings.Count(text, before), strings.ReplaceAll(text, before, after)
	}
	if len(now) > MaxFile {
		return nil, fmt.Errorf("it would have %d bytes, at most %d can be written; nothing was changed", len(now), MaxFile)
	}
	e.Bytes = len(now)
	from := 0
	for n := 0; n < min(e.Replaced, maxNamed); n++ {
		i := from + strings.Index(text[from:], before)
		e.Lines = append(e.Lines, lineOf(now, i+n*(len(after)-len(before))))
		from = i + len(before)
	}
	return []byte(now), nil
}

func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// occurrences are the places of a text in another one, also those that overlap, up to one more than are named.
func occurrences(text, part string) (at []int) {
	for from := 0; len(at) <= maxNamed; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

// lineOf is the number of the line that has this byte.
func lineOf(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// named are the numbers of the lines at these places.
func named(text string, at []int) string {
	var numbers []string
	for _, i := range at[:min(len(at), maxNamed)] {
		numbers = append(numbers, fmt.Sprint(lineOf(text, i)))
	}
	if len(at) > maxNamed {
		numbers = append(numbers, "more")
	}
	return strings.Join(numbers, ", ")
}

// missing says that a text does not occur, and where its first line does.
func missing(text, before string) error {
	wanted := ""
	for line := range strings.Lines(before) {
		if wanted = strings.TrimSpace(line); wanted != "" {
			break
		}
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if wanted != "" && strings.TrimSpace(line) == wanted {
			return fmt.Errorf("the old text does not occur; its first line is like line %d, so that blanks or the lines after it differ: read the file again and copy it exactly, without the line numbers", n)
		}
	}
	return errors.New("the old text does not occur; read the file again and copy it exactly, without the line numbers")
}
