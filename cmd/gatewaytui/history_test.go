package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
)

// deadHome is a home on which no gateway runs, with the files that are given by their names.
func deadHome(t *testing.T, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "dumps"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(home, name), text)
	}
	return home
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStatusAndHistoryAnswerWithoutAGatewayFromItsFiles(t *testing.T) {
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	id := ulid.MustNew(ulid.Timestamp(began), nil).String()
	older := ulid.MustNew(ulid.Timestamp(began.Add(-time.Hour)), nil).String()
	row := func(outcome ops.Outcome) ops.Life {
		return ops.Life{Life: id, PID: 4711, StartedAt: ops.At(began), LastSeenAt: ops.At(began.Add(90 * time.Second)), Outcome: outcome}
	}
	stopped := row(ops.OutcomeClean)
	stopped.EndedAt, stopped.Reason, stopped.By = ops.At(began.Add(10*time.Minute)), "kernel update", "uid 7"
	report := func(life, outcome string) ops.Shutdown {
		s := ops.Shutdown{
			ID: "S", Life: life, Mode: ops.ModeGraceful, Reason: "kernel update", By: "uid 7", StartedAt: ops.At(began.Add(10 * time.Minute)), ElapsedMS: 5000,
			Outcome: outcome, Phases: []ops.Phase{{Name: "adapters", State: ops.StepTimedOut, ElapsedMS: 5000, BudgetMS: 5000, Items: []ops.Item{
				{Kind: "adapter", ID: "dock", State: ops.StepTimedOut, ElapsedMS: 5000, BudgetMS: 5000, Detail: "did not return"},
			}}},
		}
		if outcome == ops.ShutdownRunning {
			s.Phases = append(s.Phases, ops.Phase{Name: "sweep", State: ops.StepRunning, Items: []ops.Item{}})
		} else {
			s.EndedAt = ops.At(s.StartedAt.Add(5 * time.Second))
		}
		return s
	}
	dead := `{"pid":4711,"start_ticks":1,"boot_id":"another boot","life":"` + id + `","started_at":"` + began.UTC().Format(time.RFC3339) + `","control":""}`
	for _, c := range []struct {
		name    string
		files   map[string]string
		status  []string
		history []string
	}{
		{"a life that was killed ran until it was last seen", map[string]string{
			"dumps/" + lives.File: encoded(t, []ops.Life{row(ops.OutcomeRunning)}), "gateway.pid": dead,
		}, []string{"last end    crashed, last seen 58m", id}, []string{"crashed", "1m30s"}},
		{
			"a planned stop says who asked for it and what overran",
			map[string]string{
				"dumps/" + lives.File: encoded(t, []ops.Life{stopped}), "dumps/shutdown-" + id + ".json": encoded(t, report(id, ops.ShutdownIncomplete)),
			},
			[]string{"last end    clean: kernel update, 50m", "by uid 7; some items were abandoned", "overran     adapters 5.0s of 5.0s (adapter dock 5.0s)"},
			[]string{"clean", "uid 7", "kernel update", "adapter dock 5.0s"},
		},
		{"a stop that was killed was cut short in its phase", map[string]string{
			"dumps/" + lives.File: encoded(t, []ops.Life{row(ops.OutcomeRunning)}), "dumps/shutdown-" + id + ".json": encoded(t, report(id, ops.ShutdownRunning)),
		}, []string{"last end    cut short in sweep: kernel update, last seen 49m"}, []string{"cut short", "sweep"}},
		{"a marker alone says that a stop was planned", map[string]string{
			"dumps/" + lives.File: encoded(t, []ops.Life{row(ops.OutcomeRunning)}), "gateway.pid": dead,
			".clean_shutdown": `{"life":"` + id + `","at":"` + began.Add(2*time.Minute).UTC().Format(time.RFC3339) + `","reason":"deploy","by":"uid 9"}`,
		}, []string{"last end    cut short: deploy, last seen 58m", "by uid 9"}, []string{"cut short", "deploy"}},
		{"a home of an earlier edition has reports alone", map[string]string{
			"dumps/shutdown-" + id + ".json":    encoded(t, report(id, ops.ShutdownClean)),
			"dumps/shutdown-" + older + ".json": encoded(t, report(older, ops.ShutdownClean)),
		}, []string{"last end    clean: kernel update", id}, []string{id, older}},
		{"a pid file alone is a life that was killed", map[string]string{"gateway.pid": dead}, []string{"last end    crashed", id}, []string{"crashed"}},
		{"a damaged list is said, and the reports are read", map[string]string{
			"dumps/" + lives.File: `[{"life":"\u001b]52;c;eA==\u0007"`, "dumps/shutdown-" + id + ".json": encoded(t, report(id, ops.ShutdownClean)),
		}, []string{"last end    clean", "warning     dumps/lives.json cannot be used: it is not a list of lives"}, []string{id, "warning: dumps/lives.json cannot be used"}},
		{"a report of another life is named", map[string]string{
			"dumps/" + lives.File: encoded(t, []ops.Life{row(ops.OutcomeRunning)}), "dumps/shutdown-" + id + ".json": encoded(t, report(older, ops.ShutdownClean)),
		}, []string{"last end    cut short", "warning     dumps/shutdown-" + id + ".json cannot be used"}, []string{"cut short"}},
		{"an unreadable marker is said", map[string]string{
			"dumps/" + lives.File: encoded(t, []ops.Life{row(ops.OutcomeRunning)}), ".clean_shutdown": "half",
		}, []string{"last end    cut short", "warning     .clean_shutdown cannot be used"}, []string{"cut short"}},
		{"a home without a life has none", map[string]string{}, []string{"gateway     down"}, []string{"LIFE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := deadHome(t, c.files)
			invocation{}.run(t, t.Context(), "status", "--home", home).must(t, exitNoGateway).says(t, append(c.status, "gateway     down")...)
			invocation{}.run(t, t.Context(), "history", "--home", home).must(t, exitDone).says(t, append(c.history, "no gateway runs here")...)
			invocation{}.run(t, t.Context(), "history", "--shutdowns", "--home", home).must(t, exitDone)
			r := invocation{}.run(t, t.Context(), "history", "--json", "--home", home).must(t, exitDone)
			var page ops.Page[ops.Life]
			if err := json.Unmarshal([]byte(r.out), &page); err != nil || page.Items == nil {
				t.Errorf("--json: %v: %s", err, r.out)
			}
			if entries, err := os.ReadDir(home); err != nil || len(entries) != 1+rootFiles(c.files) {
				t.Errorf("asking made something in the home: %v, %v", entries, err)
			}
		})
	}
}

// rootFiles is how many of the names have no folder.
func rootFiles(files map[string]string) int {
	n := 0
	for name := range files {
		if !strings.Contains(name, "/") {
			n++
		}
	}
	return n
}

func TestHistoryWithoutAGatewayComesInPages(t *testing.T) {
	var rows []ops.Life
	for n := range 7 {
		at := time.Date(2026, 11, 21, 22, n, 0, 0, time.UTC)
		rows = append(rows, ops.Life{Life: ulid.MustNew(ulid.Timestamp(at), nil).String(), StartedAt: ops.At(at), EndedAt: ops.At(at.Add(time.Second)), Outcome: ops.OutcomeClean})
	}
	home := deadHome(t, map[string]string{"dumps/" + lives.File: encoded(t, rows)})
	var seen []string
	for cursor := ""; ; {
		args := []string{"history", "--json", "--home", home, "--limit", "3"}
		if cursor != "" {
			args = append(args, "--cursor", cursor)
		}
		var page ops.Page[ops.Life]
		if err := json.Unmarshal([]byte(invocation{}.run(t, t.Context(), args...).must(t, exitDone).out), &page); err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Items {
			seen = append(seen, r.Life)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != len(rows) || seen[0] != rows[6].Life || seen[6] != rows[0].Life {
		t.Errorf("the pages hold %q", seen)
	}
	invocation{}.run(t, t.Context(), "history", "--home", home, "--cursor", "gone").must(t, exitUsage).says(t, "this cursor has expired")
	invocation{}.run(t, t.Context(), "history", "--home", home, "--filter", "crashed", "--json").must(t, exitDone).says(t, `{"items":[],"next":""}`)
}
