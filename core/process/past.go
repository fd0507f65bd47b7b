package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// past is what a sweep of earlier lives is after.
type past struct {
	lives   []string
	leaders map[ident]bool
	found   map[ident]proc // everything that any look found
}

// SweepEarlier ends what earlier lives of this home left behind, by KILL at once, since nobody is there whom they could
// report to: the processes of rows, by their identity, with everything below them. It also ends every process that
// carries the tag, the marker or the control group of a life in rows, or of another life that has a group below the home's. rows are
// those of the journal without an end; those of this life are passed over, and what AdoptEarlier took over is spared.
//
// ended are the rows of which something lived that is now gone, verified. spared are those whose pid somebody else has
// now: a look-alike, which is left alone (B11, B14). Of a row in neither nothing was there; the error
// names what survived.
//
// It takes as long as a kill without a grace, a second at most, and where nothing is left one look at every process
// of the machine. It may be called once the home's lock is held, by which every other life of this home is an earlier
// one, between Open and Close.
func (r *Registry) SweepEarlier(ctx context.Context, rows []Entry) (ended, spared []Entry, err error) {
	p := &past{leaders: map[ident]bool{}, found: map[ident]proc{}}
	if r.groups != nil {
		p.lives = r.groups.earlier()
	}
	var ours []Entry // of this boot
	for _, e := range rows {
		if e.Life == r.opts.Life || e.Life == "" || e.BootID != r.self.bootID {
			continue
		}
		ours = append(ours, e)
		if !slices.Contains(p.lives, e.Life) {
			p.lives = append(p.lives, e.Life)
		}
		p.leaders[ident{e.PID, e.StartTicks}] = true
	}
	if len(p.lives) == 0 {
		return nil, nil, nil
	}
	for _, e := range ours {
		if now, err := statOf(e.PID); err == nil && now.start != e.StartTicks {
			spared = append(spared, e)
		}
	}
	report := r.end(ctx, selection{past: p}, 0)
	if r.groups != nil {
		r.groups.removeEarlier()
	}
	survived := map[int]bool{}
	for _, s := range report.Survivors {
		survived[s.PID] = true
	}
	for _, e := range ours {
		if there, left := p.remains(e, survived); there && !left && report.Problem == nil {
			ended = append(ended, e)
		}
	}
	if !report.Verified {
		err = errors.New(report.Summary())
		if report.Problem != nil {
			err = report.Problem
		}
		err = fmt.Errorf("end what earlier lives left: %w", err)
	}
	return ended, spared, err
}

// remains reports whether anything of e's tree was found, and whether any of that survived. What e's leader left is known
// by the session that it opened; a process that left that one as well is ended, but is of no row.
func (p *past) remains(e Entry, survived map[int]bool) (there, left bool) {
	leader := ident{e.PID, e.StartTicks}
	for i, q := range p.found {
		// The number of a session is not given out again while it has members: one of an earlier tree is e's.
		if i == leader || q.sid == e.PID && q.start >= e.StartTicks {
			there = true
			left = left || survived[q.pid]
		}
	}
	return there, left
}

// findPast finds what earlier lives left.
func (k *kill) findPast(ctx context.Context, until time.Time) ([]proc, error) {
	p := k.sel.past
	if k.r.groups != nil {
		adopted := k.r.inheritedDirs()
		for _, life := range p.lives {
			dir, kept := k.r.groups.of(life)
			k.dirs[dir] = true
			for _, tree := range k.r.groups.trees(kept) {
				if !adopted[tree] {
					k.dirs[tree] = true
				}
			}
		}
	}
	found, err := k.r.pastProcs(ctx, until, p)
	if err != nil {
		return nil, err
	}
	for _, q := range found {
		p.found[q.ident] = q
	}
	return found, nil
}

func (r *Registry) pastProcs(ctx context.Context, until time.Time, p *past) ([]proc, error) {
	if err := r.takeScan(ctx, until, nil); err != nil {
		return nil, fmt.Errorf("scan processes: %w", err)
	}
	defer r.giveScan()
	procs, err := r.scanner.scan()
	if err != nil {
		return nil, fmt.Errorf("scan processes: %w", err)
	}
	never := map[ident]bool{} // ourselves and what is ours, adopted or not
	for _, members := range r.inherited(procs, nil) {
		for _, q := range members {
			never[q.ident] = true
		}
	}
	for _, q := range descendants(procs, r.self.pid, nil) {
		never[q.ident] = true
	}
	spare := func(q proc) bool { return never[q.ident] || r.self.untouchable(q) }
	seen := map[ident]bool{}
	var out []proc
	add := func(q proc) {
		if !seen[q.ident] && q.alive() {
			seen[q.ident] = true
			out = append(out, q)
		}
	}
	for _, q := range procs {
		if spare(q) {
			continue
		}
		if !p.leaders[q.ident] && (!q.alive() || !slices.ContainsFunc(p.lives, r.lifeOf(q).is)) {
			continue
		}
		add(q)
		for _, below := range descendants(procs, q.pid, spare) {
			// What was started with another life's tag is another life's, or another gateway: not ours to end.
			m := r.scanner.marksOf(below.pid)
			if m.Tag() == 0 || slices.ContainsFunc(p.lives, func(life string) bool { return m.TagFrom(life) != 0 }) {
				add(below)
			}
		}
	}
	return out, nil
}
