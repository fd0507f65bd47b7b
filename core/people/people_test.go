package people

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// world is a store and conversations that write down what they are asked, and fail where the test wants it.
type world struct {
	did  []string
	fail string
}

func (w *world) do(what string) error {
	if w.did = append(w.did, what); what == w.fail {
		return errors.New("the disk is full")
	}
	return nil
}

func (w *world) Forget(_ context.Context, key string) error { return w.do("end " + key) }
func (w *world) DropAgent(key string)                       { _ = w.do("drop " + key) }

type rows struct{ *world }

func (r rows) PutForgetting(context.Context, store.Forgetting) error  { return r.do("begin") }
func (r rows) DropForgetting(context.Context, store.Forgetting) error { return r.do("over") }
func (r rows) Forgettings(context.Context) ([]store.Forgetting, error) {
	return []store.Forgetting{{Platform: "telegram", ID: "47", At: time.Now()}}, nil
}

func (r rows) OwnKeys(context.Context, store.Forgetting) ([]string, error) {
	return []string{"own"}, nil
}

func (r rows) SharedWith(context.Context, store.Forgetting) ([]string, error) {
	return []string{"shared"}, nil
}

func (r rows) CountForgotten(context.Context, store.Forgetting) (store.Forgotten, error) {
	return store.Forgotten{"messages": 2}, nil
}

func (r rows) Forget(context.Context, store.Forgetting) (store.Forgotten, error) {
	return store.Forgotten{"messages": 2}, r.do("rows")
}
func (r rows) Wipe(context.Context) error { return r.do("wipe") }

func (w *world) people() *People {
	hold := func(kind string) []Holder {
		return []Holder{{Kind: kind, Forget: func(_ context.Context, _ store.Forgetting, keys []string) (int, error) {
			return 1, w.do(kind + " of " + strings.Join(keys, " "))
		}}}
	}
	return New(Options{
		Log: slog.New(slog.DiscardHandler), Conversations: w, Store: func() Store { return rows{w} }, Before: hold("files"), After: hold("words"),
	})
}

func TestCV13_ADeletionHasItsOrderAndIsOverAtItsEndAlone(t *testing.T) {
	order := []string{"begin", "end own", "files of own", "rows", "drop shared", "words of own", "wipe", "over"}
	for i, fail := range append([]string{""}, order...) {
		if fail == "drop shared" {
			continue // it has no error
		}
		synctest.Test(t, func(t *testing.T) {
			w := &world{fail: fail}
			_, result, err := w.people().Forget(t.Context(), "telegram:47")
			did := slices.Compact(w.did) // the wipe is tried again
			if fail == "" {
				if want := map[string]int{"files": 1, "messages": 2, "words": 1}; err != nil || !slices.Equal(did, order) || !maps.Equal(result.Deleted, want) {
					t.Errorf("done was %q, deleted %v (%v), want %q and %v", did, result.Deleted, err, order, want)
				}
				return
			}
			if err == nil || !slices.Equal(did, order[:i]) {
				t.Errorf("where %q fails, done was %q (%v), want an error and no further step", fail, did, err)
			}
		})
	}
}

func TestCV13_TheNextLifeGoesOn(t *testing.T) {
	w := &world{}
	w.people().Finish(t.Context())
	if len(w.did) == 0 || w.did[len(w.did)-1] != "over" || slices.Contains(w.did, "begin") {
		t.Errorf("done was %q, want the deletion without a new beginning", w.did)
	}
}

func TestCV13_APersonIsAPlatformAndAnID(t *testing.T) {
	for name, good := range map[string]bool{
		"telegram:4711": true, "discord:80351110224678912": true, "api:alice": true, "matrix:@bot:example.org": true,
		"irc:[a]`^!~a@2001:db8::1": true, "mail:o'brien+x@example.org": true,
		"": false, "telegram": false, "telegram:": false, ":4711": false, "Telegram:1": false, "telegram:a b": false, "telegram:%": false, "telegram:(deleted)": false,
	} {
		f, err := Read(name)
		if (err == nil) != good || good && f.Platform+":"+f.ID != name || !good && !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("%q is read as %+v (%v), want that it is valid: %v", name, f, err, good)
		}
	}
}
