package lives

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/filter"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Past is what a home's files show of its lives while no gateway runs (TF20). It is read from gateway.pid,
// .clean_shutdown and dumps/ alone: the database and the lock belong to a gateway.
type Past struct {
	// rows are the lives, newest first. A report is read when a row is shown.
	rows []ops.Life
	// problems name the files that cannot be used, and why.
	problems []string

	files Files
}

// maxLine bounds one problem, in characters.
const maxLine = 1000

// ReadPast reads the files of the home dir, on which no gateway runs. record is the content of its pid file. It changes
// nothing.
func ReadPast(dir string, record instance.Record) *Past {
	p := &Past{files: Files{Dir: filepath.Join(dir, "dumps")}}
	var err error
	if p.rows, err = Read(p.files.Dir); err != nil {
		p.problem("dumps/"+File, err)
	}
	marker, marked, err := instance.ReadMarker(dir)
	if err != nil {
		p.problem(".clean_shutdown", err)
	}
	if record.Life != "" {
		p.add(ops.Life{Life: record.Life, PID: record.PID, Version: record.Version, StartedAt: record.StartedAt, LastSeenAt: record.StartedAt, Outcome: ops.OutcomeRunning})
	}
	reported := p.addReported()
	slices.SortStableFunc(p.rows, newestFirst)
	for i := range p.rows {
		r := &p.rows[i]
		if r.Outcome != ops.OutcomeRunning {
			continue
		}
		// Its end was not recorded. An unreadable marker belongs to the newest life, because each start removes the
		// marker.
		stopped := marked && (marker.Life == r.Life || marker.Life == "" && i == 0)
		p.end(r, reported[r.Life], stopped)
		if marker.Life == r.Life && r.Reason == "" {
			r.Reason, r.By = marker.Reason, marker.By
		}
		if stopped && marker.At.After(r.LastSeenAt.Time) {
			r.LastSeenAt = marker.At
		}
	}
	return p
}

func (p *Past) problem(file string, err error) {
	why, _, _ := strings.Cut(err.Error(), "\n")
	p.problems = append(p.problems, term.Clean(fmt.Sprintf("%s cannot be used: %s; the next start moves it to aside/", file, why), maxLine))
}

// Problems name the files that were read so far and cannot be used, and why.
func (p *Past) Problems() []string { return p.problems }

// add adds a life that the list does not have.
func (p *Past) add(l ops.Life) {
	if !slices.ContainsFunc(p.rows, func(r ops.Life) bool { return r.Life == l.Life }) {
		p.rows = append(p.rows, l)
	}
}

// addReported adds the lives that left a report and are not in the list, such as those of an earlier edition. It returns
// which lives left one.
func (p *Past) addReported() map[string]bool {
	entries, err := os.ReadDir(p.files.Dir)
	if err != nil {
		return nil
	}
	reported := map[string]bool{}
	for _, e := range slices.Backward(entries) { // ids are in the order of time
		life, is := strings.CutPrefix(e.Name(), "shutdown-")
		life, ends := strings.CutSuffix(life, ".json")
		if !is || !ends || !e.Type().IsRegular() || len(reported) == Kept {
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

// end completes the row of a life whose end was not recorded.
func (p *Past) end(r *ops.Life, reported, stopped bool) {
	var report ops.Shutdown
	if reported {
		report, _ = p.report(r.Life)
	}
	r.Outcome, r.Phase = Ended(report, stopped || reported)
	r.EndedAt = report.EndedAt
	if at := report.LastWord(); at.After(r.LastSeenAt.Time) {
		r.LastSeenAt = at
	}
	if r.Reason == "" {
		r.Reason, r.By = report.Reason, report.By
	}
}

// Page is one page of the lives, each with the report of its stop as far as that is readable.
func (p *Past) Page(q ops.Query) (ops.Page[ops.Life], error) {
	picks, err := filter.Parse(q.Filter, filter.Lives)
	if err != nil {
		return ops.Page[ops.Life]{}, err
	}
	rows := p.rows
	if q.Cursor != "" {
		at := slices.IndexFunc(rows, func(r ops.Life) bool { return r.Life == q.Cursor })
		if at < 0 {
			return ops.Page[ops.Life]{}, &ops.Error{Code: ops.CodeInvalid, Message: "this cursor has expired", Hint: "start again without --cursor"}
		}
		rows = rows[at+1:]
	}
	limit := ops.PageSize(q.Limit)
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
func (p *Past) reported(r ops.Life) ops.Life {
	if report, found := p.report(r.Life); found {
		r.Shutdown = &report
	}
	return r
}

// report is the report of a life's stop, zero where there is none that can be used.
func (p *Past) report(life string) (r ops.Shutdown, found bool) {
	r, found, err := p.files.ReadReport(life)
	if err != nil {
		p.problem("dumps/"+filepath.Base(p.files.reportPath(life)), err)
	}
	return r, found
}

// Newest is the newest life of the files with the report of its stop; false: they have none.
func (p *Past) Newest() (ops.Life, bool) {
	if len(p.rows) == 0 {
		return ops.Life{}, false
	}
	return p.reported(p.rows[0]), true
}
