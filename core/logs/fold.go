package logs

import "time"

// foldWindow is how long identical lines are folded into one. An endless repetition is written once at its beginning and
// once per window, with its count. So the log neither fills the disk nor goes silent (H9).
const foldWindow = 10 * time.Second

// How many lines are remembered, so that alternating lines are folded as well. The line whose window ends first is
// forgotten early.
const (
	maxFolds     = 512
	maxFoldBytes = 1 << 20
)

// folds are the lines whose windows are open. The zero value has none.
type folds struct {
	lines map[string]*fold
	order []*fold // by the end of their windows
	bytes int
}

type fold struct {
	line    string
	until   time.Time
	repeats int
}

// repeat counts line and reports whether its window is open.
func (f *folds) repeat(line []byte) bool {
	o := f.lines[string(line)]
	if o == nil {
		return false
	}
	o.repeats++
	return true
}

// open begins the window of a line that is about to be written. It returns the entries of the windows that were closed
// early for it.
func (f *folds) open(e entry) []entry {
	var forgotten []entry
	for len(f.order) > 0 && (len(f.order) >= maxFolds || f.bytes+len(e.line) > maxFoldBytes) {
		if o := f.pop(); o.repeats > 0 {
			forgotten = append(forgotten, entry{o.line, e.at, o.repeats})
		}
	}
	f.push(&fold{line: e.line, until: e.at.Add(foldWindow)})
	return forgotten
}

// ended returns the entries of the windows that end by now, or of all. A line that was repeated is folded again.
func (f *folds) ended(now time.Time, all bool) []entry {
	var said []entry
	for n := len(f.order); n > 0 && (all || !f.order[0].until.After(now)); n-- {
		o := f.pop()
		if o.repeats == 0 {
			continue
		}
		said = append(said, entry{o.line, now, o.repeats})
		o.until, o.repeats = now.Add(foldWindow), 0
		f.push(o)
	}
	return said
}

// next is when the first window ends, zero if none is open.
func (f *folds) next() time.Time {
	if len(f.order) == 0 {
		return time.Time{}
	}
	return f.order[0].until
}

func (f *folds) push(o *fold) {
	if f.lines == nil {
		f.lines = make(map[string]*fold)
	}
	f.lines[o.line] = o
	f.order = append(f.order, o)
	f.bytes += len(o.line)
}

func (f *folds) pop() *fold {
	o := f.order[0]
	f.order[0] = nil
	f.order = f.order[1:]
	delete(f.lines, o.line)
	f.bytes -= len(o.line)
	return o
}
