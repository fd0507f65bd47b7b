// Package ops is the operator's language: what can be seen of a gateway and what can be asked of it.
//
// Console is the one interface through which an operator acts. The gateway implements it, the client of the control
// socket implements it, and the console, the verbs and the socket's server know nothing else. The rows of this package
// are the wire format of CONTRACT.md, 7, to the letter: their JSON form is what scripts read.
//
// The package imports only core/text of the project, does no I/O and holds no state.
package ops

import (
	"context"
	"iter"
	"time"
)

// Console shows one gateway and steers it. Every method may be called from any goroutine, returns when ctx ends, and
// never waits for a turn, an adapter or a process: an answer that is not known is said to be unknown.
//
// An error is an *Error where the operator can act on it.
type Console interface {
	// Status is the one-screen summary. It answers within 100 ms, even if other parts hang (H4).
	Status(ctx context.Context) (Status, error)
	// Snapshot is Status and the rows, of sessions at most SnapshotSessions: the first ones in the order of CompareSessions.
	// What it leaves out is in Omitted. most bounds tables further, for a reader that shows a part of them and asks often. The
	// caller owns what is returned.
	Snapshot(ctx context.Context, most ...Most) (Snapshot, error)

	Sessions(ctx context.Context, q Query) (Page[Session], error)
	Agents(ctx context.Context, q Query) (Page[Agent], error)
	Processes(ctx context.Context, q Query) (Page[Process], error)
	Adapters(ctx context.Context, q Query) (Page[Adapter], error)
	// Environments is what the commands of sessions run in, oldest first, with what could not be closed.
	Environments(ctx context.Context, q Query) (Page[Environment], error)
	// Servers is the MCP servers, in the order of CompareServers, and Jobs what runs by schedule, in the order of CompareJobs.
	Servers(ctx context.Context, q Query) (Page[Server], error)
	Jobs(ctx context.Context, q Query) (Page[Job], error)
	// Held is what sessions and the gateway hold besides processes and environments, oldest first; Browsers is its rows of kind browser.
	Held(ctx context.Context, q Query) (Page[Held], error)
	Browsers(ctx context.Context, q Query) (Page[Held], error)
	// Notes is the memory of agents, newest first. console.texts says what of it is shown.
	Notes(ctx context.Context, q Query) (Page[Note], error)
	// Inbox is what waits for a person, in the order of CompareInbox, with a bounded number of requests that have ended. Rules are
	// what approvals with the scope always made, newest first.
	Inbox(ctx context.Context, q Query) (Page[InboxItem], error)
	Rules(ctx context.Context, q Query) (Page[Rule], error)

	// Usage is what model calls used, and Budgets what may be used.
	Usage(ctx context.Context, q UsageQuery) (Page[Usage], error)
	Budgets(ctx context.Context) (Page[Budget], error)
	// People is everyone who is named, by the config or by a row, and the unknown users who have a code: those first, then by role.
	People(ctx context.Context, q Query) (Page[Person], error)

	// Rates is what the gateway did in the span that ends now, of this life alone: see RateSpans. A span of 0 is RateSpan.
	Rates(ctx context.Context, span time.Duration) (Rates, error)

	// Plan is the shutdown as it would run now, or under assumptions such as "drain=60s" and "hang=telegram"; one that cannot
	// be used is an error with CodeInvalid. Shutdown is the one that runs, or the last one. A gateway that never stopped on
	// this home answers Shutdown with CodeNotFound.
	Plan(ctx context.Context, assume ...string) (Plan, error)
	Shutdown(ctx context.Context) (Shutdown, error)
	// History is the past lives, newest first; the current one leads with OutcomeRunning.
	History(ctx context.Context, q Query) (Page[Life], error)

	// Transcript is the messages of a conversation, oldest first: of the current one of a session, which is named by its key, or
	// of any one, which is named by its id. A page ends early at MaxPageBytes. Next goes in MessageQuery.After. console.texts says
	// what of it is shown.
	Transcript(ctx context.Context, session string, q MessageQuery) (Page[Message], error)

	// Turns are the turns of a conversation, newest first: of the current one of a session, which is named by its key, or of any one,
	// which is named by its id. Filters are not taken.
	Turns(ctx context.Context, session string, q Query) (Page[Turn], error)
	// Timeline is what a turn did and does, by its id. A turn of a request without a conversation is known while it runs.
	Timeline(ctx context.Context, turn string) (Timeline, error)

	// Search is what was said that has all of a text's words, newest first. It answers within a second at a million messages.
	Search(ctx context.Context, q SearchQuery) (Found, error)

	// Output is what a tracked process has written, or one of the last background processes that ended.
	Output(ctx context.Context, q OutputQuery) (Output, error)
	// Logs is the gateway's own log, newest line first, of this life and earlier ones. It reads files.
	Logs(ctx context.Context, q LogQuery) (Page[LogLine], error)

	// Events yields every event after the sequence number given (0: from the oldest kept), then new ones as they come,
	// until ctx ends or the gateway is gone. A reader that is too slow is not waited for: it gets one EventDropped with
	// the number of events it missed and goes on with the oldest kept. With kinds only events of these types come, and at
	// most four times a second one EventSkipped stands for all others, so that following a busy gateway costs little and
	// the reader's place moves on.
	Events(ctx context.Context, after uint64, kinds ...EventType) iter.Seq2[Event, error]

	// Preview says what cmd would do if it were given now, and does nothing.
	Preview(ctx context.Context, cmd Command) (Preview, error)
	// Do accepts cmd and returns at once; Request tells what became of it.
	Do(ctx context.Context, cmd Command) (Request, error)
	// Request returns a request by id. With wait it returns when the request has ended, or with its current state when
	// ctx ends.
	Request(ctx context.Context, id string, wait bool) (Request, error)
}

// Query selects rows. The zero value selects the first page of everything.
type Query struct {
	// Limit is how many rows at most; 0 is DefaultLimit, more than MaxLimit is MaxLimit.
	Limit int
	// Cursor is the Next of the page before. A cursor of sessions never expires: the page begins behind the place where the
	// last row of the page before was, even if that row is gone.
	Cursor string
	// Filter keeps the rows that match: see package filter, which is its language. A filter that names a column that there is
	// not is an error with CodeInvalid.
	Filter string
	// Key, of Sessions alone, selects the one session with this key; the other fields are not looked at.
	Key string
}

// Bounds of Query.Limit, in rows.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// PageSize is how many rows a page of a query with this limit may have.
func PageSize(limit int) int {
	if limit <= 0 {
		return DefaultLimit
	}
	return min(limit, MaxLimit)
}

// Page is some rows and where the next ones begin; Next is empty on the last page.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
	// Scanned is how many rows were looked at, where that was bounded and ended the page before its limit: Next goes on. A
	// page with Scanned may have no rows although there are some further on.
	Scanned int `json:"scanned,omitempty"`
}

// MaxScan is how many rows one page of a filtered list looks at. It bounds what a filter that matches little costs the
// gateway to some tens of milliseconds a call.
const MaxScan = 50_000

// Fill asks for a page and, where the gateway ended it before its limit because a filter had looked at enough rows, for
// the next page, until the page is full or the list ends.
func Fill[T any](ctx context.Context, q Query, ask func(context.Context, Query) (Page[T], error)) (Page[T], error) {
	page, err := ask(ctx, q)
	limit := PageSize(q.Limit)
	for err == nil && page.Scanned > 0 && page.Next != "" && len(page.Items) < limit {
		rows := page.Items
		q.Cursor, q.Limit = page.Next, limit-len(rows)
		page, err = ask(ctx, q)
		page.Items = append(rows, page.Items...)
	}
	page.Scanned = 0
	return page, err
}
