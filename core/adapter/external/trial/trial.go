// Package trial checks the program of an external adapter (core/adapter/external/PROTOCOL.md), in real time and without a gateway.
//
// It promises: each row has its bound, and so has the whole; nothing that a row has started is left when it has ended; a message that a
// program gives meanwhile is not taken from its platform, unless a peer plays that platform.
package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/process"
)

// Options are what Run needs.
type Options struct {
	// Name is the adapter's name, which the program gets.
	Name string
	// Command is the program under test and its arguments, Peer the program that plays its platform; empty: there is none.
	Command, Peer []string
	// Settings and Groups are those of the config, Env the variables that the program gets in addition to those of tools. Their values are
	// secrets. What the peer says goes before them.
	Settings map[string]any
	Groups   []string
	Env      map[string]string
	// Workdir is where both programs run. It exists.
	Workdir string
	// Spawn starts them: process.Registry.Spawn.
	Spawn func(context.Context, process.Spec) (*process.Process, error)
	// Each is called with each row when it has ended. It may not be nil.
	Each func(Result)
}

// Verdict is what became of a row.
type Verdict string

// The verdicts.
const (
	OK       Verdict = "ok"
	Fail     Verdict = "fail"
	NotShown Verdict = "not shown" // the program cannot do it, or there is no peer that shows it
)

// Result is a row that has ended.
type Result struct {
	// Row is the promise as a sentence.
	Row     string  `json:"row"`
	Verdict Verdict `json:"verdict"`
	// Details are the faults, or why the promise was not shown. They may have what the program wrote, and are not clean.
	Details []string `json:"details,omitempty"`
	// MS is how long the row took, in milliseconds.
	MS int64 `json:"ms"`
}

// Bounds of the suite.
const (
	rowMost = 30 * time.Second
	allMost = 3 * time.Minute
)

// pace is how long the suite waits; tests wait longer or less.
type pace struct {
	// end is how long a program may take to end by itself, left how long what it has started may outlive it: a second, and what a busy machine
	// adds.
	end, left time.Duration
	// settle, lag and come are those of conformance.Times.
	settle, lag, come time.Duration
}

var usual = pace{end: 2 * time.Second, left: 2 * time.Second, settle: 1500 * time.Millisecond, lag: 2 * time.Second, come: 8 * time.Second}

// faults are what is wrong, each once, up to faultsMost. The zero value has none.
type faults struct {
	some []string
	more int
}

const faultsMost = 5

func (f *faults) add(fault string) {
	switch {
	case slices.Contains(f.some, fault):
	case len(f.some) == faultsMost:
		f.more++
	default:
		f.some = append(f.some, fault)
	}
}

// all are the faults for people; nil: there are none.
func (f *faults) all() []string {
	if f.more == 0 {
		return f.some
	}
	return append(slices.Clone(f.some), fmt.Sprintf("and %d more", f.more))
}

// row is one promise. Its check returns why it was not shown; empty: it was checked, and the stage has the faults.
type row struct {
	name  string
	check func(s *stage) (notShown string)
	// sums says that it starts nothing, and looks at what the rows before have shown.
	sums bool
}

// Run checks all rows, one after another, and returns when nothing is left of them. The error is ctx's; rows that it kept from running
// have no result.
func Run(ctx context.Context, o Options) error {
	t := &trial{o: o, pace: usual}
	return t.all(ctx, t.rows())
}

func (t *trial) all(ctx context.Context, rows []row) error {
	began := time.Now()
	for _, r := range rows {
		result := Result{Row: r.name}
		switch {
		case t.unready && !r.sums:
			result.Verdict, result.Details = NotShown, []string{"the program was not ready"}
		case time.Since(began) > allMost:
			result.Verdict, result.Details = Fail, []string{fmt.Sprintf("the rows before took more than %s", allMost)}
		default:
			result = t.run(ctx, r)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		t.o.Each(result)
	}
	return nil
}

// trial is one run of the suite.
type trial struct {
	o    Options
	pace pace
	// took is how long the program needed to be ready; unready says that it never was, runsOn that a stop does not end it.
	took            time.Duration
	unready, runsOn bool
	// secrets are the values of variables that the program got.
	secrets []string
	// lines is how many lines of the program were read; unread has what is wrong with some, leaked where it wrote a secret.
	lines          int
	unread, leaked faults
}

// rows are those that need no peer, then the suite of all platforms, and then what all of these have shown.
func (t *trial) rows() []row {
	all := slices.Clone(alone)
	for _, r := range conformance.Rows() {
		if r.Needs != "" && !slices.Contains(abilities, r.Needs) {
			continue // no program of the protocol has it
		}
		all = append(all, row{r.Name, func(s *stage) string {
			if s.peer == nil {
				return "no --peer plays the platform"
			}
			return r.Check(s, &world{stage: s})
		}, false})
	}
	return append(all, row{"each of its lines is one of the protocol", (*stage).wroteLines, true}, row{"what it writes for people has no secret", (*stage).keptSecrets, true})
}

func (s *stage) wroteLines() (notShown string) {
	if s.lines == 0 {
		return "it wrote none"
	}
	s.faults = s.unread
	return ""
}

func (s *stage) keptSecrets() (notShown string) {
	if len(s.secrets) == 0 {
		return "it gets no variable (--env NAME) that has one"
	}
	s.faults = s.leaked
	return ""
}

// run checks one row, and ends what it has started.
func (t *trial) run(ctx context.Context, r row) Result {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, rowMost)
	defer cancel()
	s := &stage{trial: t, ctx: bounded}
	result := Result{Row: r.name, Verdict: OK}
	done := make(chan struct{})
	go func() {
		defer close(done) // also after a Fatal
		if !r.sums {
			s.open()
		}
		if why := r.check(s); why != "" {
			result.Verdict, result.Details = NotShown, []string{why}
		}
	}()
	<-done // everything in a row ends with its context
	if bounded.Err() != nil {
		s.faults.some = slices.Insert(s.faults.some, 0, fmt.Sprintf("the row took more than %s", rowMost))
	}
	s.close()
	if faults := s.faults.all(); len(faults) > 0 {
		result.Verdict, result.Details = Fail, faults
	}
	result.MS = time.Since(began).Milliseconds()
	return result
}
