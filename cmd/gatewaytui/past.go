package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/filter"
	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// past is what a home's files tell of its lives while no gateway runs (TF20). It is read from gateway.pid,
// .clean_shutdown and dumps/ alone: the database is a gateway's, and so is the lock.
type past struct {
	// rows are the lives, newest first. A report is read when a row is shown.
	rows []ops.Life
	// troubles say which of the files cannot be used, and why.
	troubles []string

	files files
}

// readPast reads the files of the home dir, on which no gateway runs. record is its pid file's.
func readPast(dir string, record instance.Record) past {
	p := past{files: files{dumps: filepath.Join(dir, "dumps")}}
	var err error
	if p.rows, err = lives.Read(p.files.dumps); err != nil {
		p.trouble("dumps/"+lives.File, err)
	}
	marker, marked, err := instance.ReadMarker(dir)
	if err != nil {
		p.trouble(".clean_shutdown", err)
	}
	if record.Life != "" {
		p.add(ops.Life{Life: record.Life, PID: record.PID, Version: record.Version, StartedAt: ops.At(record.StartedAt), LastSeenAt: ops.At(record.StartedAt), Outcome: ops.OutcomeRunning})
	}
	reported := p.addReported()
	slices.SortStableFunc(p.rows, func(a, b ops.Life) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt.Time), cmp.Compare(b.Life, a.Life))
	})
	for i := range p.rows {
		r := &p.rows[i]
		if r.Outcome != ops.OutcomeRunning {
			continue
		}
		// It did not say how it ended. An unreadable marker is of the newest life: each start takes the marker away.
		stopped := marked && (marker.Life == r.Life || marker.Life == "" && i == 0)
		p.end(r, reported[r.Life], stopped)
		if marker.Life == r.Life && r.Reason == "" {
			r.Reason, r.By = marker.Reason, marker.By
		}
		if stopped && marker.At.After(r.LastSeenAt.Time) {
			r.LastSeenAt = ops.At(marker.At)
		}
	}
	return p
}

func (p *past) trouble(file string, err error) {
	why, _, _ := strings.Cut(err.Error(), "\n")
	p.troubles = append(p.troubles, term.Clean(fmt.Sprintf("%s cannot be used: %s; the next start moves it to aside/", file, why), maxLine))
}

// add adds a life that the list does not have.
func (p *past) add(l ops.Life) {
	if !slices.ContainsFunc(p.rows, func(r ops.Life) bool { return r.Life == l.Life }) {
		p.rows = append(p.rows, l)
	}
}

// addReported adds the lives that left a report and are not in the list, as those of an earlier edition are not, and
// returns which lives left one.
func (p *past) addReported() map[string]bool {
	entries, err := os.ReadDir(p.files.dumps)
	if err != nil {
		return nil
	}
	reported := map[string]bool{}
	for _, e := range slices.Backward(entries) { // ids are in the order of time
		life, is := strings.CutPrefix(e.Name(), "shutdown-")
		life, ends := strings.CutSuffix(life, ".json")
		if !is || !ends || !e.Type().IsRegular() || len(reported) == lives.Kept {
			continue
		}
		began, err := ulid.ParseStrict(life)
		if err != nil {
			continue // another program's file
		}
		reported[life] = true
		p.add(ops.Life{Life: life, StartedAt: ops.At(began.Timestamp()), Outcome: ops.OutcomeRunning})
	}
	return reported
}

// end completes the row of a life that did not say how it ended.
func (p *past) end(r *ops.Life, reported, stopped bool) {
	var report ops.Shutdown
	if reported {
		stopped = true
		var err error
		if report, _, err = p.files.readReport(r.Life); err != nil {
			p.trouble("dumps/"+filepath.Base(p.files.report(r.Life)), err)
			report = ops.Shutdown{}
		}
	}
	r.Outcome, r.Phase = lives.Ended(report, stopped)
	r.EndedAt = report.EndedAt
	if at := report.LastWord(); at.After(r.LastSeenAt.Time) {
		r.LastSeenAt = at
	}
	if r.Reason == "" {
		r.Reason, r.By = report.Reason, report.By
	}
}

// page is one page of the lives, each with the report of its stop as far as that can be read.
func (p *past) page(q ops.Query) (ops.Page[ops.Life], error) {
	picks, err := filter.Parse(q.Filter, filter.Lives)
	if err != nil {
		return ops.Page[ops.Life]{}, err
	}
	rows := p.rows
	if q.Cursor != "" {
		at := slices.IndexFunc(rows, func(r ops.Life) bool { return r.Life == q.Cursor })
		if at < 0 {
			return ops.Page[ops.Life]{}, wrongUsage("start again without --cursor", "this cursor has expired")
		}
		rows = rows[at+1:]
	}
	limit := q.Limit
	if limit <= 0 {
		limit = ops.DefaultLimit
	}
	page := ops.Page[ops.Life]{Items: []ops.Life{}}
	for _, r := range rows {
		if !picks.Match(&r) {
			continue
		}
		if len(page.Items) == limit {
			page.Next = page.Items[limit-1].Life
			break
		}
		page.Items = append(page.Items, p.reported(r))
	}
	return page, nil
}

// reported is a row with the report of its stop.
func (p *past) reported(r ops.Life) ops.Life {
	report, found, err := p.files.readReport(r.Life)
	if err != nil {
		p.trouble("dumps/"+filepath.Base(p.files.report(r.Life)), err)
	} else if found {
		r.Shutdown = &report
	}
	return r
}

// past is what the files of the home tell, if err says that no gateway runs there; false where one may run, and where
// the home does not exist.
func (p *program) past(err error) (past, bool) {
	dir, down := p.isDown(err)
	if !down {
		return past{}, false
	}
	found, locateErr := instance.Locate(dir)
	if locateErr != nil {
		return past{}, false
	}
	return readPast(dir, found.Record), true
}

// isDown reports whether err says that no gateway runs on the home, and the home is there.
func (p *program) isDown(err error) (home string, down bool) {
	if err == nil || errors.Is(err, errNoHome) || !isGone(err) {
		return "", false
	}
	if _, went := errors.AsType[*unseen](err); went {
		return "", false // it ran, and took the request
	}
	home, err = instance.Resolve(p.home, p.getenv)
	return home, err == nil
}

// lastEnd is how the newest life of the files ended, and what overran in its stop; nil if they know of none.
func (p *past) lastEnd() (end *ops.LastEnd, late string) {
	if len(p.rows) == 0 {
		return nil, ""
	}
	r := p.reported(p.rows[0])
	end = &ops.LastEnd{Life: r.Life, Outcome: r.Outcome, Phase: r.Phase, Reason: r.Reason, By: r.By, RSSBytes: r.RSSBytes}
	end.At, _ = lifeEnd(r)
	if r.Shutdown != nil {
		end.Stopped(*r.Shutdown)
	}
	return end, overran(r)
}
