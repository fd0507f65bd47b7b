package approval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/tool"
)

// heard is what became of a question.
type heard struct {
	text string
	err  error
}

// asks asks a question in a turn, on a goroutine of its own.
func (b *bench) question(ctx context.Context, c tool.Call, q tool.Question) <-chan heard {
	out := make(chan heard, 1)
	go func() {
		text, err := b.book.Ask(ctx, c, q)
		out <- heard{text, err}
	}()
	synctest.Wait()
	return out
}

// writes is a message of the person with an id in a chat.
func writes(user, text string) session.Message {
	return session.Message{ID: "m", User: user + " (" + user + ")", Text: text}
}

func TestTR4_AQuestion_WhoMayAnswerAndHow(t *testing.T) {
	const group = "telegram:group:9"
	for _, tt := range []struct {
		name    string
		options []string
		answer  func(b *bench, id string) error
		want    string // empty: it still waits
		code    ops.Code
	}{
		{"the next message of who was asked", nil, taken(writes("7", "the second one")), "the second one", ""},
		{"the name of an option in other letters", []string{"Blue", "Red"}, taken(writes("7", " red ")), "Red", ""},
		{"the number of an option", []string{"Blue", "Red"}, taken(writes("7", "1")), "Blue", ""},
		{"a text that is not an option is refused, and is not a message either", []string{"Blue", "Red"}, taken(writes("7", "green")), "", ops.CodeInvalid},
		{"a number behind the last option is refused", []string{"Blue", "Red"}, taken(writes("7", "3")), "", ops.CodeInvalid},
		{"a message of someone else in the group is a message", nil, notTaken(writes("8", "I say blue")), "", ""},
		{"a message with a file is a message", nil, notTaken(session.Message{User: "7 (7)", Text: "see this", Files: "[{}]"}), "", ""},
		{"a message of a program is a message", nil, notTaken(session.Message{User: "7 (7)", Text: "x", Instant: true}), "", ""},
		{"the command of who was asked", nil, byCommand(writes("7", ""), "blue"), "blue", ""},
		{"the command of an owner", nil, byCommand(writes("4711", ""), "blue"), "blue", ""},
		{"the command of another member of the group is refused", nil, byCommand(writes("8", ""), "blue"), "", ops.CodeForbidden},
		{"the command of a program is refused", nil, byCommand(session.Message{User: "7 (7)", Caller: ops.Caller{By: "key"}}, "blue"), "", ops.CodeForbidden},
		{"an operator", nil, byOperator("blue"), "blue", ""},
		{"no text", nil, byOperator("  "), "", ops.CodeInvalid},
		{"a text that is too long", nil, byOperator(strings.Repeat("x", maxAnswer+1)), "", ops.CodeInvalid},
		{"an approval is refused", nil, func(b *bench, id string) error { _, err := b.allow(id, ops.ScopeOnce); return err }, "", ops.CodeInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newRows())
				turn, _, _, err := b.table.Enqueue(t.Context(), group, session.Message{ID: "x", User: "7 (7)", Target: "the group", Text: "x", At: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				out := b.question(turn.Context(), call(turn), tool.Question{Text: "Which colour?", Options: tt.options})
				item := b.book.Inbox()[0]
				if item.Kind != ops.InboxQuestion || item.Command != "Which colour?" || !slices.Equal(item.Options, tt.options) || item.State != ops.InboxWaiting {
					t.Errorf("the row is %+v", item)
				}
				if err := tt.answer(b, item.ID); !ops.HasCode(err, tt.code) && (tt.code != "" || err != nil) {
					t.Errorf("the answer returned %v, want %q", err, tt.code)
				}
				synctest.Wait()
				select {
				case got := <-out:
					if got.err != nil || got.text != tt.want {
						t.Errorf("heard %q, %v; want %q", got.text, got.err, tt.want)
					}
					if row := b.book.Inbox()[0]; row.State != ops.InboxAnswered {
						t.Errorf("the row is %+v", row)
					}
				default:
					if tt.want != "" {
						t.Errorf("it still waits, want %q", tt.want)
					}
					if _, err := b.deny(item.ID, ""); err != nil {
						t.Error(err)
					}
					<-out
				}
			})
		})
	}
}

func taken(m session.Message) func(*bench, string) error {
	return func(b *bench, _ string) error {
		taken, err := b.book.TakeAnswer(context.Background(), "telegram:group:9", m)
		if !taken {
			return errors.New("it was not taken")
		}
		return err
	}
}

func notTaken(m session.Message) func(*bench, string) error {
	return func(b *bench, _ string) error {
		taken, err := b.book.TakeAnswer(context.Background(), "telegram:group:9", m)
		if taken {
			return errors.New("it was taken")
		}
		return err
	}
}

func byCommand(m session.Message, words string) func(*bench, string) error {
	return func(b *bench, id string) error {
		_, err := b.book.AnswerQuestion(context.Background(), "telegram:group:9", m, strings.ToLower(id), words)
		return err
	}
}

func byOperator(words string) func(*bench, string) error {
	return func(b *bench, id string) error {
		_, err := b.book.Answer(context.Background(), ops.Command{Verb: ops.VerbAnswer, Target: id, Text: words, By: ops.Actor{User: "root"}})
		return err
	}
}

func TestTR5_AQuestionThatIsNotAnsweredHasAnEnd(t *testing.T) {
	for _, tt := range []struct {
		name     string
		call     func(*tool.Call)
		end      func(t *testing.T, b *bench, turn *session.Turn)
		state    ops.InboxState
		says     string
		declined bool
	}{
		{"it expires", nil, func(*testing.T, *bench, *session.Turn) { time.Sleep(31 * time.Minute) }, ops.InboxExpired, "no person answered the request within 30m", false},
		{"it is declined", nil, func(t *testing.T, b *bench, _ *session.Turn) {
			if _, err := b.book.AnswerChat(t.Context(), "telegram:dm:7", writes("7", ""), b.waits()[0], false, "not now"); err != nil {
				t.Error(err)
			}
		}, ops.InboxDenied, "a person refused this and said: not now. There is no answer", true},
		{"its turn is interrupted", nil, func(_ *testing.T, b *bench, turn *session.Turn) {
			b.table.Interrupt(turn.Session.Key, "", session.ErrInterrupted)
		}, ops.InboxWithdrawn, "the question was withdrawn because the turn ended", false},
		{"nothing waits for a person in its turn", func(c *tool.Call) { c.Unattended = true }, nil, ops.InboxRefused, "so the question was not asked", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newRows())
				turn := b.turn("telegram:dm:7")
				c := call(turn)
				if tt.call != nil {
					tt.call(&c)
				}
				out := b.question(turn.Context(), c, tool.Question{Text: "Which?", Options: []string{"a", "b"}})
				if tt.end != nil {
					tt.end(t, b, turn)
				}
				got := <-out
				withheld, is := errors.AsType[*tool.WithheldError](got.err)
				if !is || !strings.Contains(withheld.Text, tt.says) || withheld.Declined != tt.declined {
					t.Errorf("heard %+v, want %q", got, tt.says)
				}
				if row := b.book.Inbox()[0]; row.State != tt.state {
					t.Errorf("the row is %+v, want %s", row, tt.state)
				}
				if taken, err := b.book.TakeAnswer(t.Context(), "telegram:dm:7", writes("7", "late")); taken || err != nil {
					t.Errorf("a late message was taken as an answer: %v, %v", taken, err)
				}
			})
		})
	}
}

func TestTR5_AStopWithdrawsAQuestionAndTheNextLifeTellsTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newRows())
		turn := b.turn("telegram:dm:7")
		ctx, cancel := context.WithCancelCause(turn.Context())
		out := b.question(ctx, call(turn), tool.Question{Text: "Which?"})
		if card := b.shown()[0]; card.key != "telegram:dm:7" || !strings.Contains(card.text, "Which?") || card.choices[len(card.choices)-1].Label != "Decline" {
			t.Errorf("the card is %+v", card)
		}
		if err := errors.Join(b.book.Stop(t.Context()), b.book.Tell(t.Context())); err != nil {
			t.Fatal(err)
		}
		cancel(session.ErrStopping)
		if got := <-out; got.err == nil {
			t.Errorf("heard %+v after the stop", got)
		}
		if card := b.shown()[0]; !strings.Contains(card.text, "Withdrawn") || strings.Contains(card.text, "not run") {
			t.Errorf("after the stop the card is %+v", card)
		}
		// A kill leaves the row waiting: the next life withdraws it.
		row := b.book.row(b.book.terms.Load(), call(turn), tool.Step{Kind: tool.StepKind(question), Text: "And now?"})
		if err := b.book.put(t.Context(), &row); err != nil {
			t.Fatal(err)
		}
		b.begin()
		if note, _ := b.book.Take("telegram:dm:7"); !strings.Contains(note, "the question: And now?") {
			t.Errorf("the model of the next life reads %q", note)
		}
	})
}

// TR4: with several questions of one person a message is the answer to none of them, and each command reaches its own.
func TestTR4_AnAnswerReachesItsOwnQuestion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(rt, "questions")
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}[:n]).Draw(rt, "order of the answers")
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, newRows())
			turn := b.turn("telegram:dm:7")
			outs := make([]<-chan heard, n)
			ids := make([]string, n)
			for i := range n {
				c := call(turn)
				c.Turn += "/" + string(rune('1'+i))
				outs[i] = b.question(turn.Context(), c, tool.Question{Text: "Which of " + string(rune('a'+i))})
				for _, item := range b.book.Inbox() {
					if strings.HasSuffix(item.Command, "of "+string(rune('a'+i))) {
						ids[i] = item.ID
					}
				}
			}
			for done, i := range order {
				if taken, err := b.book.TakeAnswer(t.Context(), "telegram:dm:7", writes("7", "x")); done < n-1 && (!taken || !ops.HasCode(err, ops.CodeInvalid)) {
					t.Fatalf("with %d questions a message was taken: %v, %v", n-done, taken, err)
				}
				if done == n-1 { // the message was the answer to the last one
					if got := <-outs[i]; got.text != "x" {
						t.Fatalf("the last question heard %+v", got)
					}
					break
				}
				if _, err := b.book.AnswerQuestion(t.Context(), "telegram:dm:7", writes("7", ""), ids[i], "answer "+ids[i]); err != nil {
					t.Fatal(err)
				}
				if got := <-outs[i]; got.text != "answer "+ids[i] {
					t.Fatalf("question %s heard %+v", ids[i], got)
				}
			}
			if left := b.waits(); len(left) > 0 {
				t.Fatalf("%q still wait", left)
			}
		})
	})
}

// TR4: the answer is in no row: it is text of the conversation.
func TestTR4_TheRowOfAQuestionHasNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := newRows()
		b := newBench(t, kept)
		turn := b.turn("telegram:dm:7")
		out := b.question(turn.Context(), call(turn), tool.Question{Text: "Password?"})
		if _, err := b.book.TakeAnswer(t.Context(), "telegram:dm:7", writes("7", "hunter2")); err != nil {
			t.Fatal(err)
		}
		if got := <-out; got.text != "hunter2" {
			t.Fatalf("heard %+v", got)
		}
		for _, row := range kept.all {
			if row.State != store.ApprovalAnswered || strings.Contains(row.Reason+row.Scope+row.Command, "hunter2") {
				t.Errorf("the row is %+v", row)
			}
		}
		for _, a := range kept.audits {
			if a.Verb != string(ops.VerbAnswer) || strings.Contains(a.Reason+a.Detail, "hunter2") {
				t.Errorf("the audit has %+v", a)
			}
		}
	})
}
