package shutdown

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

const (
	// firstLook is how long an item without progress runs before the goroutines are read, or two fifths of a short phase, and
	// lookAgain how often that is repeated. A read stops the program for some 2 ms with 2,000 goroutines.
	firstLook = 2 * time.Second
	lookAgain = 5 * time.Second
	// lookSpare is how much time a phase must have left for a read: the pause takes time from the items.
	lookSpare = 500 * time.Millisecond
)

// watchStacks shows what the goroutines of p's silent items wait for, until quit is closed. The goroutines are found by
// their labels, which child goroutines inherit (runtime/pprof).
func (r *Run) watchStacks(p *phase, quit <-chan struct{}) {
	if r.o.Stacks == nil {
		return
	}
	timer := time.NewTimer(min(firstLook, time.Until(r.deadline(p))*2/5))
	defer timer.Stop()
	for {
		select {
		case <-quit:
			return
		case <-timer.C:
		}
		if time.Until(r.deadline(p)) >= lookSpare {
			r.lookAtStacks(p)
		}
		timer.Reset(lookAgain)
	}
}

func (r *Run) lookAtStacks(p *phase) {
	r.mu.Lock()
	silent := map[string]*item{}
	for _, it := range p.items {
		if it.state == ops.StepRunning && it.Progress == nil {
			silent[clean(it.name())] = it
		}
	}
	r.mu.Unlock()
	if len(silent) == 0 {
		return
	}
	var profile bytes.Buffer
	if err := r.o.Stacks(&profile); err != nil {
		return // a stop is reported without it
	}
	waits := waitsOf(profile.String(), p.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, it := range silent {
		if why := waits[name]; why != "" && it.state == ops.StepRunning {
			it.detail = why
		}
	}
	r.saves.ask()
}

// waitsOf reads a goroutine profile (pprof's debug=1 form) and returns for each item of a phase, by its label, what its
// most telling goroutine waits for. A wait for the network or a file comes first, then a wait for a lock, then any other.
// Last comes a goroutine that only waits for another of them (plumbing). Of equals the deeper one counts.
func waitsOf(profile, phase string) map[string]string {
	type wait struct{ rank, depth int }
	best, out := map[string]wait{}, map[string]string{}
	for block := range strings.SplitSeq(profile, "\n\n") {
		item, ok := labelled(block, phase)
		if !ok {
			continue
		}
		frames := framesOf(block)
		if len(frames) == 0 {
			continue
		}
		at := frames[max(slices.IndexFunc(frames, frame.ours), 0)] // the innermost call of this program, or of all
		w, text := wait{rank: 1, depth: len(frames)}, "waits"
		if strings.HasPrefix(at.function, plumbing) {
			w.rank = 0
		}
		switch top := frames[0].function; {
		case strings.Contains(top, "runtime_pollWait"), strings.HasPrefix(top, "syscall."), strings.Contains(top, "unix."):
			w.rank, text = 3, "waits for the network or a file"
		case strings.Contains(top, "Semacquire"), strings.Contains(top, "sync."):
			w.rank, text = 2, "waits for a lock or a group"
		}
		if b, seen := best[item]; !seen || w.rank > b.rank || w.rank == b.rank && w.depth > b.depth {
			best[item] = w
			out[item] = clean(fmt.Sprintf("%s in %s (%s)", text, path.Base(at.function), at.place))
		}
	}
	return out
}

// labelled is the item that a block of the profile belongs to in phase.
func labelled(block, phase string) (item string, ok bool) {
	for line := range strings.Lines(block) {
		labels, is := strings.CutPrefix(line, "# labels: {")
		if !is || !strings.Contains(labels, `"phase":`+strconv.Quote(phase)) {
			continue
		}
		_, rest, found := strings.Cut(labels, `"item":`)
		quoted, err := strconv.QuotedPrefix(rest)
		if !found || err != nil {
			return "", false
		}
		item, err = strconv.Unquote(quoted)
		return item, err == nil
	}
	return "", false
}

// frame is one call of a stack: the function, and the place in it, FILE:LINE.
type frame struct{ function, place string }

func (f frame) ours() bool { return strings.HasPrefix(f.function, "gatewaytui/") }

// framesOf are the calls of a block, innermost first: "#	0xADDRESS	FUNCTION+0xOFFSET	FILE:LINE".
func framesOf(block string) (frames []frame) {
	for line := range strings.Lines(block) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] != "#" || !strings.HasPrefix(fields[1], "0x") {
			continue
		}
		function, _, _ := strings.Cut(fields[2], "+0x")
		frames = append(frames, frame{function, path.Base(fields[3])})
	}
	return frames
}

// plumbing begins the names of functions that wait for another goroutine, whose stack tells more.
const plumbing = "gatewaytui/core/bound."
