package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/views/lines"
)

// exportBound is what one export may take. A conversation of 100,000 messages takes some seconds.
const exportBound = 2 * time.Minute

// export writes the conversation of a session, by default of the selected one, as Markdown into a new file of the current folder.
func (m *model) export(key string) tea.Cmd {
	if key == "" {
		key = m.keyContext(false).subject()
	}
	if key == "" {
		m.deny("export needs the key of a session, for example: export telegram:dm:4711")
		return nil
	}
	of := ops.Session{Key: key}
	if row := find(m.snapshot().Sessions, key, sessionKey); row != nil {
		of = *row
	}
	name := exportName(key, time.Now())
	j := &job{since: time.Now(), what: "exporting " + term.Clean(key, maxName)}
	m.jobs++
	j.number = m.jobs
	m.doing = append(m.doing, j)
	m.message, m.stale = "", true
	return m.tasks.cmd(j.what, func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, exportBound)
		defer cancel()
		n, path, err := writeExport(ctx, m.console, of, name)
		if err != nil {
			return done{number: j.number, text: "export: " + ops.AsError(err).Error(), bad: true}
		}
		return done{number: j.number, text: fmt.Sprintf("%d messages of %s are in %s; y copies the path", n, term.Clean(key, maxName), path), copied: path}
	})
}

// exportName is a file's name made of a session's key and the time.
func exportName(key string, now time.Time) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, term.Clean(key, 80))
	return strings.TrimLeft(safe, "-") + "-" + now.Format("20060102-150405") + ".md"
}

// writeExport writes a conversation into a new file that the owner alone can read. What was written of a failed export is removed.
func writeExport(ctx context.Context, c ops.Console, of ops.Session, name string) (n int, path string, err error) {
	if path, err = filepath.Abs(name); err != nil {
		return 0, "", fmt.Errorf("name the file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, "", &ops.Error{Code: ops.CodeConflict, Message: path + " exists already", Hint: "try again in a second"}
	} else if err != nil {
		return 0, "", fmt.Errorf("make the file: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close %s: %w", path, closed)
		}
		if err != nil {
			_ = os.Remove(path) // the error says what matters
		}
	}()
	out := bufio.NewWriter(f)
	d := &lines.Markdown{W: out}
	d.Begin(of)
	q := ops.MessageQuery{Limit: ops.MaxLimit, By: operator()}
	for {
		page, err := c.Transcript(ctx, of.Key, q)
		if err != nil {
			return n, path, err
		}
		for _, m := range page.Items {
			if m.Withheld {
				return n, path, ops.TextsLengths.Refused("texts")
			}
			d.Message(m)
			n++
		}
		if d.Err != nil {
			return n, path, fmt.Errorf("write %s: %w", path, d.Err)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return n, path, fmt.Errorf("write %s: %w", path, err)
	}
	return n, path, nil
}
