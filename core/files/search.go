package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// MaxMatches is how many lines a search finds at most.
	MaxMatches = 1000
	// maxSearched is how much a search reads at most, in bytes.
	maxSearched = 1 << 30
	// maxSearchedLine is how much of a line is searched, in bytes.
	maxSearchedLine = 64 << 10
	// maxFound is how much of a line that matches is shown, in bytes.
	maxFound = 300
)

// Match is a line that a search found.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Found is what a search found.
type Found struct {
	Matches []Match `json:"matches"`
	// Files is how many text files were searched, Unread how many could not be read.
	Files  int `json:"files"`
	Unread int `json:"unread,omitempty"`
	// More says that the search ended early: there may be more.
	More bool `json:"truncated"`
}

// Query is what to search for.
type Query struct {
	// Pattern is a regular expression in the syntax RE2, for one line.
	Pattern string
	// Path is the folder or the file to search, Glob a pattern of paths from there.
	Path, Glob string
	IgnoreCase bool
	// Limit is the most matches, up to MaxMatches.
	Limit int
}

// Search finds lines in text files, by path and line. It does not go into .git, nor through links.
func (f *Folder) Search(ctx context.Context, q Query) (Found, error) {
	re, err := compile(q)
	if err != nil {
		return Found{}, err
	}
	g, err := parseGlob(q.Glob)
	if err != nil {
		return Found{}, err
	}
	p, err := f.find(q.Path, false)
	if err != nil {
		return Found{}, err
	}
	defer p.close()
	if p.info == nil {
		return Found{}, errMissing
	}
	s := &searching{p: p, re: re, limit: min(q.Limit, MaxMatches), bytes: maxSearched, found: Found{Matches: []Match{}}}
	if !p.info.IsDir() {
		err = s.file(ctx, p.name)
		if err == nil && s.found.Files == 0 {
			return Found{}, errors.New("it is binary, and only text is searched")
		}
	} else {
		w := &walk{p: p, left: maxEntries, depth: maxDepth + 1, stat: func() bool { return true }}
		w.see = func(rel, name string, fi fs.FileInfo) (bool, error) {
			if !fi.Mode().IsRegular() || !g.matches(rel) {
				return true, nil
			}
			p.name, p.info = name, fi
			err := s.file(ctx, name)
			if err == nil || errors.Is(err, errEnough) || ctx.Err() != nil {
				return false, err
			}
			s.found.Unread++
			return false, nil
		}
		err = w.folder(ctx, "")
	}
	if errors.Is(err, errEnough) {
		s.found.More, err = true, nil
	}
	return s.found, cause(err)
}

func compile(q Query) (*regexp.Regexp, error) {
	if len(q.Pattern) > maxPattern {
		return nil, fmt.Errorf("argument %q has more than %d bytes", "pattern", maxPattern)
	}
	expression := q.Pattern
	if q.IgnoreCase {
		expression = "(?i:" + expression + ")"
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("argument %q is not a regular expression of RE2: %s; put \\ before a character that is meant as it is", "pattern", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

// searching is a search that runs.
type searching struct {
	p     *place
	re    *regexp.Regexp
	limit int
	bytes int64 // that may still be read
	found Found
}

// file searches the file that is at the place.
func (s *searching) file(ctx context.Context, name string) error {
	file, err := s.p.open(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	most := min(s.bytes, maxRead)
	r := bufio.NewReaderSize(io.LimitReader(file, most), sniffed)
	if kind, err := binary(r); err != nil || kind != "" {
		return err
	}
	s.p.name = name
	shown := s.p.path()
	s.found.Files++
	s.bytes -= min(most, s.p.info.Size())
	var full error
	err = lines(ctx, r, maxSearchedLine, func(n int, line []byte, _ int, _ string) bool {
		at := s.re.FindIndex(line)
		if at == nil {
			return true
		}
		if len(s.found.Matches) == s.limit {
			full = errEnough
			return false
		}
		s.found.Matches = append(s.found.Matches, Match{Path: shown, Line: n, Text: around(line, at[0])})
		return true
	})
	if err == nil && (s.bytes <= 0 || s.p.info.Size() > most) {
		s.found.More = true
		if s.bytes <= 0 {
			full = errEnough
		}
	}
	return errors.Join(err, full)
}

// around is the part of a line that has a match at byte at.
func around(line []byte, at int) string {
	from := 0
	if len(line) > maxFound {
		from = max(0, min(at-maxFound/3, len(line)-maxFound))
	}
	to := min(len(line), from+maxFound)
	for from > 0 && from < at && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := strings.ToValidUTF8(string(line[from:to]), "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}
