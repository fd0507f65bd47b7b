package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// reader reads for one page of one row what the page shows and no snapshot has. It is made by readerFor when the page comes into
// sight, and dropped when another row or page is looked at: what it has read is its own fields, and a new one begins empty.
//
// The wall calls its methods on the loop of the console. It runs its questions outside of the loop, one at a time and each with
// a deadline (fetchTimeout). It cancels a question whose answer is of no use any more. After an error, which the page shows, it
// asks again when pageRetry has passed; what was read before stays.
type reader interface {
	// next is the question to ask now and how long to wait before it is asked. It is called whenever no question is under way,
	// after each message that the console handles: a nil question is nothing to ask for now. It looks at m and changes nothing of it.
	//
	// A page that is polled waits between two questions. An event about the row, or one that stands for events that the console did
	// not ask for, cuts the wait short, at most every fullGap, and so does a key that scrolls (m.rouse): then next is called again, and its wait is not kept.
	next(m *model) (question readQuestion, wait time.Duration)
	// show puts what has been read into the frame: into the field of views.Screen that is the page's own. It is called for each
	// frame with the page in sight.
	show(s *views.Screen)
}

// readQuestion asks the gateway. It runs on a goroutine that is not the loop's: it must not touch the model or the reader. What is to be
// done with the answer is take, which runs on the loop and may change the reader and the model; nil is nothing.
type readQuestion func(ctx context.Context, c ops.Console) (take func(m *model), err error)

// readerFor makes the reader of a page for a row, which is named by its key; nil for a page that draws from the snapshot alone.
func readerFor(v views.View, page, row string) reader {
	switch {
	case v == views.Sessions && page == timelinePage:
		return &timelineReader{session: row}
	case page == views.PageOutput, v == views.Sessions && page == views.PageProcesses:
		return newOutputReader(v, row)
	case page == views.PageTalk:
		return newTalkReader(row)
	}
	if page == logName {
		return &logReader{about: row, whole: v == views.Events}
	}
	return nil
}

// restAfterMove is how long a selection rests on a row before a page is read for it: a person who scrolls through a list does not ask
// for each row on the way.
const restAfterMove = 150 * time.Millisecond

// logPane is the index in model.readings of the log that view 7 shows.
const logPane = 2

// reading is what the wall knows of one page in sight.
type reading struct {
	view      views.View
	page, row string
	reader    reader
	err       string
	// cancel ends the question under way; nil: there is none. number is its number: an answer with another one is too late.
	cancel context.CancelFunc
	number int
	// due is when the wait before it ends, at is when the last answer came, and rest is until when nothing is asked.
	due, at, rest time.Time
	// roused says that the next question does not wait longer than that.
	roused bool
}

// pageRead is the answer to the question of the pane with this index.
type pageRead struct {
	pane, number int
	at           time.Time
	take         func(m *model)
	err          error
}

// readPages compares the pages in sight with those that are read for, and asks for what is wanted. It is called after each message.
func (m *model) readPages() tea.Cmd {
	var cmds []tea.Cmd
	row, pages := m.lists[m.view].Selected, views.InSight(m.bare())
	if row == "" {
		pages = nil
	}
	for i := range m.readings {
		want := reading{}
		switch {
		case i < len(pages):
			want = reading{view: m.view, page: pages[i], row: row}
		case i == logPane && m.view == views.Events && m.stream.Log:
			want = reading{view: m.view, page: logName, row: m.stream.About}
		}
		if r := &m.readings[i]; r.view != want.view || r.page != want.page || r.row != want.row {
			r.stop()
			want.number = r.number
			if want.page != "" {
				about := want.row
				if want.view == views.Held {
					about = heldAbout(m.snapshot().Held, want.row)
				}
				want.reader = m.newReader(want.view, want.page, about)
			}
			if i < logPane && r.view == want.view && r.row != "" && r.row != want.row {
				want.rest = time.Now().Add(restAfterMove)
			}
			switch i {
			case 0:
				m.scrollToBegin(want.page)
			case logPane:
				m.log = views.Log{}
				m.filterEvents()
			}
			*r, m.stale = want, true
		}
		cmds = append(cmds, m.askFor(i))
	}
	return tea.Batch(cmds...)
}

// askFor starts the next question of a page, unless one is under way.
func (m *model) askFor(i int) tea.Cmd {
	r := &m.readings[i]
	if r.reader == nil || r.cancel != nil || m.link.Paused && !r.at.IsZero() {
		return nil
	}
	question, wait := r.reader.next(m)
	if question == nil {
		return nil
	}
	now := time.Now()
	if r.roused {
		r.roused, wait = false, r.at.Add(fullGap).Sub(now)
	}
	wait = max(wait, r.rest.Sub(now))
	ctx, cancel := context.WithCancel(m.tasks.ctx)
	r.number++
	r.cancel, r.due = cancel, now.Add(wait)
	number := r.number
	return m.tasks.cmd(taskRead, func(context.Context) tea.Msg {
		defer cancel()
		pause(ctx, wait)
		answer := pageRead{pane: i, number: number}
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		if answer.err = ctx.Err(); answer.err == nil {
			answer.take, answer.err = question(ctx, m.console)
		}
		answer.at = time.Now()
		return answer
	})
}

func (m *model) onPageRead(a pageRead) {
	r := &m.readings[a.pane]
	if r.number != a.number || r.cancel == nil {
		return
	}
	r.cancel, r.at, m.stale = nil, a.at, true
	if a.err != nil {
		r.err, r.rest = ops.AsError(a.err).Error(), a.at.Add(pageRetry)
		return
	}
	if r.err = ""; a.take != nil {
		a.take(m)
	}
}

// rouse cuts short what the pages in sight wait for, as far as they asked a moment ago.
func (m *model) rouse() {
	now := time.Now()
	for i := range m.readings {
		r := &m.readings[i]
		if r.roused = r.reader != nil && r.err == ""; r.roused && now.Before(r.due) {
			r.stop()
		}
	}
}

// rouseFor is rouse if one of events is about a row that is read for, or stands for events that may be.
func (m *model) rouseFor(events []ops.Event) {
	for i := range m.readings {
		r := &m.readings[i]
		for j := range events {
			if r.reader != nil && (events[j].Subject == r.row || events[j].Type == ops.EventSkipped) {
				m.rouse()
				return
			}
		}
	}
}

// stop ends the question under way; its answer is dropped.
func (r *reading) stop() {
	if r.cancel != nil {
		r.cancel()
		r.cancel = nil
		r.number++
	}
}

// restartReadings is for a question that failed in the console's own code.
func (m *model) restartReadings() {
	for i := range m.readings {
		r := &m.readings[i]
		r.stop()
		r.rest = time.Now().Add(pageRetry)
	}
}

// showRead puts what was read for the pages in sight into the frame.
func (m *model) showRead(s *views.Screen) {
	for i := range m.readings {
		if r := &m.readings[i]; r.reader != nil {
			r.reader.show(s)
			if i < logPane {
				s.Detail.Errs[i] = r.err
			}
		}
	}
}
