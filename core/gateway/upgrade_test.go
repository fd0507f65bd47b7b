package gateway

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

func TestAHomeWithAnOlderSchemaIsWarnedOncePerChangedDefault(t *testing.T) {
	changes := []config.Change{
		{Name: "of_a_later_schema", Key: "made.up", Old: `"2s"`, New: `"3s"`, Schema: 1000},
		{Name: "of_an_earlier_schema", Key: "made.up_too", Old: `"5s"`, New: `"4s"`, Schema: 1},
	}
	dir, logged := t.TempDir(), filepath.Join(t.TempDir(), "log")
	life := func(t *testing.T) (warned []string) {
		f, err := os.OpenFile(logged, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		l := start(t, func(s *setup) {
			s.dir, s.log = dir, slog.NewJSONHandler(f, nil)
			s.opts = func(o *Options) { o.Changes = changes }
		})
		st, err := l.g.Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range st.Warnings {
			if strings.HasPrefix(w.Code, "upgrade.") {
				warned = append(warned, w.Code+": "+w.Message)
			}
		}
		l.stop(ops.ModeFast)
		return warned
	}
	t.Run("a new home is not an upgrade", func(t *testing.T) {
		if w := life(t); len(w) > 0 {
			t.Errorf("warnings %q, want none", w)
		}
	})
	t.Run("a home with a schema between the two", func(t *testing.T) {
		w := life(t)
		if len(w) != 1 || w[0] != `upgrade.of_a_later_schema: the default of made.up changed from "2s" to "3s"; set made.up in the config to choose, or ignore this to use the new default` {
			t.Errorf("warnings %q", w)
		}
		text := read(t, logged)
		if n := strings.Count(text, `"level":"WARN","msg":"default changed","event":"upgrade.of_a_later_schema","key":"made.up","old":"\"2s\"","new":"\"3s\""`); n != 1 {
			t.Errorf("%d lines of the log tell of the change, want 1:\n%s", n, text)
		}
		if strings.Contains(text, "of_an_earlier_schema") {
			t.Errorf("the log tells of a change that the home had already:\n%s", text)
		}
	})
}
