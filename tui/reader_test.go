package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// questions are the rows that were asked for. Readers ask on goroutines of their own.
type questions struct {
	mu   sync.Mutex
	rows []string
}

func (q *questions) add(row string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows = append(q.rows, row)
}

func (q *questions) all() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.rows)
}

// diary is a reader that writes down what was asked of it.
type diary struct {
	row   string
	asked *questions
	every time.Duration
	err   error
	reads int
}

func (d *diary) next(*model) (readQuestion, time.Duration) {
	if d.reads > 0 && d.every == 0 {
		return nil, 0
	}
	wait := time.Duration(0)
	if d.reads > 0 {
		wait = d.every
	}
	row, asked, err := d.row, d.asked, d.err
	return func(ctx context.Context, _ ops.Console) (func(*model), error) {
		if _, ok := ctx.Deadline(); !ok {
			return nil, errors.New("no deadline")
		}
		asked.add(row)
		return func(*model) { d.reads++ }, err
	}, wait
}

func (d *diary) show(s *views.Screen) { s.Message = fmt.Sprintf("read %d of %s", d.reads, d.row) }

// pulse runs a model in virtual time: commands on goroutines, messages one after the other.
type pulse struct {
	m    *model
	msgs chan tea.Msg
}

func (l *pulse) send(msg tea.Msg) {
	_, cmd := l.m.Update(msg)
	l.start(cmd)
}

func (l *pulse) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for _, c := range msg {
				l.start(c)
			}
		case nil, tick, batch:
		default:
			l.msgs <- msg
		}
	}()
}

// pass lets d go by and handles what comes in it.
func (l *pulse) pass(d time.Duration) {
	after := time.After(d)
	for {
		select {
		case msg := <-l.msgs:
			l.send(msg)
		case <-after:
			synctest.Wait()
			for len(l.msgs) > 0 {
				l.send(<-l.msgs)
				synctest.Wait()
			}
			return
		}
	}
}

// reads runs f on a console of 140x40 with the view of the sessions open, whose pages are read by diaries.
func reads(t *testing.T, every time.Duration, f func(l *pulse, asked *questions)) {
	synctest.Test(t, func(t *testing.T) {
		tasks := newTasks(context.Background())
		m := newModel(newGateway(), tasks, Options{})
		var asked questions
		m.newReader = func(_ views.View, page, row string) reader {
			if page == views.PageTalk { // the first one
				return &diary{row: row, asked: &asked, every: every}
			}
			return nil
		}
		l := &pulse{m: m, msgs: make(chan tea.Msg, 100)}
		l.send(tea.WindowSizeMsg{Width: 140, Height: 40})
		l.send(fetchRequest{full: true, order: m.order()}.fetch(context.Background(), m.console))
		l.send(press("2"))
		defer synctest.Wait()
		defer tasks.end(time.Second)
		f(l, &asked)
	})
}

func TestAPageIsReadForTheRowOnWhichTheSelectionRests(t *testing.T) {
	reads(t, 0, func(l *pulse, asked *questions) {
		l.pass(10 * time.Millisecond)
		if want := []string{"api:user:alice"}; !slices.Equal(asked.all(), want) {
			t.Fatalf("the view was opened: asked %q, promised %q", asked.all(), want)
		}
		l.send(press("j"))
		l.pass(50 * time.Millisecond)
		l.send(press("j"))
		l.pass(100 * time.Millisecond)
		if len(asked.all()) > 1 {
			t.Fatalf("asked %q for a row that the selection was on its way over", asked.all())
		}
		l.pass(200 * time.Millisecond)
		if want := []string{"api:user:alice", "telegram:dm:7"}; !slices.Equal(asked.all(), want) {
			t.Fatalf("asked %q, promised %q", asked.all(), want)
		}
		if s := l.m.screen(); s.Message != "read 1 of telegram:dm:7" {
			t.Errorf("the frame has %q", s.Message)
		}
	})
}

func TestAPageIsPolledWhileItIsInSightAlone(t *testing.T) {
	reads(t, time.Second, func(l *pulse, asked *questions) {
		l.pass(3500 * time.Millisecond)
		if n := len(asked.all()); n != 4 {
			t.Fatalf("asked %d times in 3.5 s, promised 4", n)
		}
		l.send(press("]"))
		l.pass(5 * time.Second)
		if n := len(asked.all()); n != 4 {
			t.Fatalf("asked %d times with another page open", n)
		}
		l.send(press("["))
		l.pass(10 * time.Millisecond)
		l.send(tea.WindowSizeMsg{Width: 100, Height: 40})
		l.pass(5 * time.Second)
		if n := len(asked.all()); n != 5 {
			t.Fatalf("asked %d times, promised 5: the page is not in sight below 120 columns", n)
		}
	})
}

func TestAnEventAboutTheRowCutsTheWaitShort(t *testing.T) {
	reads(t, time.Minute, func(l *pulse, asked *questions) {
		l.pass(time.Second)
		for range 10 { // within 50 ms: one question
			l.m.rouseFor([]ops.Event{{Subject: "api:user:alice"}})
			l.send(nil)
			l.pass(5 * time.Millisecond)
		}
		l.pass(time.Second)
		if n := len(asked.all()); n < 2 || n > 3 {
			t.Fatalf("asked %d times for ten events, promised 2 or 3", n)
		}
		l.m.rouseFor([]ops.Event{{Subject: "cli:local"}})
		l.send(nil)
		l.pass(time.Second)
		if n := len(asked.all()); n > 3 {
			t.Errorf("asked for an event of another session")
		}
	})
}

func TestAPageThatCannotBeReadSaysWhyAndIsAskedAgain(t *testing.T) {
	reads(t, time.Minute, func(l *pulse, asked *questions) {
		d := l.m.readings[0].reader.(*diary)
		l.m.readings[0].stop()
		d.err = errors.New("no such session")
		l.send(nil)
		l.pass(10 * time.Millisecond)
		if got := l.m.screen().Detail.Errs[0]; got != "no such session" {
			t.Fatalf("the page says %q", got)
		}
		d.err = nil
		n := len(asked.all())
		l.pass(pageRetry + 10*time.Millisecond) // the question that waits was made with the error
		l.pass(pageRetry + 10*time.Millisecond)
		if got := l.m.screen().Detail.Errs[0]; got != "" || len(asked.all()) == n {
			t.Errorf("it was asked %d more times and says %q", len(asked.all())-n, got)
		}
	})
}
