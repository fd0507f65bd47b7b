package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gatewaytui/core/instance"
	"gatewaytui/core/logs"
	"gatewaytui/core/ops"
)

func logsVerb(p *program) *cobra.Command {
	var q logs.Query
	var level, since string
	c := p.verb(&cobra.Command{
		Use: "logs", Short: "print the gateway's log, oldest line first; it works while no gateway runs",
		Example: "  gatewaytui logs --since 10m\n  gatewaytui logs -f --level warn\n  gatewaytui logs --session telegram:dm:4711 --json | jq -r .msg",
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := instance.Resolve(p.home, p.getenv)
			if err != nil {
				return err
			}
			if since != "" {
				if q.Since, err = moment(since, time.Now()); err != nil {
					return err
				}
			}
			if level != "" {
				_ = q.Level.UnmarshalText([]byte(level)) // the flag takes levels alone
			} else {
				q.Level = slog.LevelDebug
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			for line, err := range logs.Read(ctx, instance.LogOf(home), q) {
				switch {
				case errors.Is(err, fs.ErrNotExist):
					return &ops.Error{Code: ops.CodeNotFound, Message: "there is no log in " + home, Hint: "a gateway writes one when it runs on this home; --home names another"}
				case err != nil:
					return err
				case p.asJSON():
					fmt.Fprintf(p.out, "%s\n", line.JSON) // the writer of the log has escaped what acts on a terminal
				default:
					p.say("%s", line.Text())
				}
			}
			return nil
		},
	})
	c.Flags().BoolVarP(&q.Follow, "follow", "f", false, "wait for new lines, until interrupted; over restarts of the gateway too")
	c.Flags().StringVar(&q.Session, "session", "", "only lines about the session with this `KEY`")
	c.Flags().Var(choice{&level, []string{"debug", "info", "warn", "error"}}, "level", "only lines from this level on")
	c.Flags().StringVar(&since, "since", "", "only lines from this `TIME` on: a duration such as 10m, a date, or a date and time")
	return c
}

// moment reads a time of a flag: how long before now, a local date, a local date and time, or RFC 3339.
func moment(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, wrongUsage(`write a duration such as "10m", a date such as "2026-11-22", or "2026-11-22 15:04"`, "%.64q is not a time", text)
}
