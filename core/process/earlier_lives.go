package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// SweepEarlier ends what earlier lives of this home left, with KILL at once, since no gateway remains that these
// processes could report to. It ends the processes of rows, by their identity, with everything below them. It also ends
// every process that carries the tag, the marker or the control group of a life in rows, or of another life with a group
// below our home's. rows are those of the journal without an end. Rows of this life are skipped, and what AdoptEarlier
// took over is left alone.
//
// ended are the rows of which a process lived that is now verified gone. spared are the rows whose pid now belongs to
// another process, which is left alone (B11, B14). For the other rows nothing was there, or something survived, which the
// error names.
//
// It takes as long as a kill without a grace, at most a second. Where nothing is left, it costs one scan of every process
// of the machine. It may be called between Open and Close, once the home's lock is held, which makes every other life of
// this home an earlier one.
func (r *Registry) SweepEarlier(ctx context.Context, rows []Entry) (ended, spared []Entry, err error) {
	p := &earlierLives{leaders: map[ident]bool{}, found: map[ident]proc{}}
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
		p.leaders[ident{PID: e.PID, Start: e.StartTicks}] = true
		if now, err := statOf(e.PID); err == nil && now.Start != e.StartTicks {
			spared = append(spared, e)
		}
	}
	if len(p.lives) == 0 {
		return nil, nil, nil
	}
	report := r.end(ctx, selection{past: p}, 0)
	r.removeEarlier()
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
		err = fmt.Errorf("end what earlier lives left: %w", cmp.Or(report.Problem, errors.New(report.Summary())))
	}
	return ended, spared, err
}

// remains reports whether anything of e's tree was found, and whether any of that survived. The session that e's leader
// opened identifies what the leader left. A process that left the session as well is ended, but counts for no row.
func (p *earlierLives) remains(e Entry, survived map[int]bool) (there, left bool) {
	leader := ident{PID: e.PID, Start: e.StartTicks}
	for i, q := range p.found {
		// A session's number is not reused while the session has members, so a process of an earlier tree belongs to e.
		if i == leader || q.SID == e.PID && q.Start >= e.StartTicks {
			there = true
			left = left || survived[q.PID]
		}
	}
	return there, left
}
