package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
	"gatewaytui/core/window"
)

// shows is a tool that shows so many pictures of a size, and says which of them are refused.
func shows(n, bytes int) fakeTool {
	return fakeTool{"look", func(_ context.Context, call tool.Call) (string, error) {
		if call.Show == nil {
			return "no eyes", nil
		}
		var refused []string
		for i := range n {
			if err := call.Show(model.Image{URL: strings.Repeat("x", bytes)}); err != nil {
				refused = append(refused, fmt.Sprint(i, ": ", err))
			}
		}
		return "looked; " + strings.Join(refused, ", "), nil
	}}
}

func look(id string) model.Response {
	return asks(model.ToolCall{ID: id, Name: "look", Arguments: "{}"})
}

func TestCV9_APictureOfAResultIsSeenInItsTurnAlone(t *testing.T) {
	for _, sees := range []bool{true, false} {
		t.Run(fmt.Sprint("the model sees: ", sees), func(t *testing.T) {
			var reqs []model.Request
			b := newBench(seen(&reqs, look("a"), says("a cat"), says("yes")), nil, shows(1, 100))
			b.models.sees = sees
			for _, text := range []string{"What is it?", "Really?"} {
				if _, err := b.turn(t.Context(), Turn{ID: text, Text: text}); err != nil {
					t.Fatal(err)
				}
			}
			want, text := 0, "no eyes"
			if sees {
				want, text = 1, "looked; "
			}
			if got := reqs[1].Messages[2]; got.Role != model.RoleTool || got.Content != text || len(got.Images) != want {
				t.Errorf("the result is %+v", got)
			}
			if got := reqs[2].Messages[2]; got.Content != text || len(got.Images) != 0 {
				t.Errorf("in the next turn it is %+v", got)
			}
		})
	}
}

func TestCV9_ThePicturesOfResultsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		each, bytes int
		refused     string
	}{
		"in number": {6, 100, "4: a result shows at most 4 pictures, 5: a result shows at most 4 pictures"},
		"in bytes":  {3, 5 << 20, "2: the pictures of a result have at most 12 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			const steps = 12
			hidden := false
			b := newBench(func(_ context.Context, call int, req model.Request, _ func(string)) (model.Response, error) {
				n, bytes := 0, 0
				for i, m := range req.Messages {
					n, bytes = n+len(m.Images), bytes+pictureBytes(m)
					hidden = hidden || m.Role == model.RoleTool && len(m.Images) == 0
					if last := i == len(req.Messages)-1; last && call > 0 && (len(m.Images) == 0 || m.Content != "looked; "+tc.refused) {
						t.Errorf("call %d: the newest result is %q with %d pictures", call, m.Content, len(m.Images))
					}
				}
				if n > mostPictures || bytes > mostPictureBytes {
					t.Errorf("call %d: %d pictures of %d bytes are shown", call, n, bytes)
				}
				if call == steps {
					return says("seen"), nil
				}
				return look(fmt.Sprint(call)), nil
			}, func(c *Config) {
				c.MaxIterations = steps + 1
				c.Context = window.Policy{PruneAt: 0.97, CompactAt: 0.98, CompactTo: 0.4, Keep: 0.2}
			}, shows(tc.each, tc.bytes))
			b.models.sees = true
			if res, err := b.turn(t.Context(), Turn{ID: "1", Text: "look around"}); err != nil || res.Text != "seen" || !hidden {
				t.Errorf("%q, %v; pictures were hidden: %v", res.Text, err, hidden)
			}
		})
	}
}

func TestCV9_APictureAfterTheEndOfItsCallIsRefused(t *testing.T) {
	p := &pictures{}
	if err := p.show(model.Image{URL: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := p.taken(); len(got) != 1 {
		t.Errorf("it shows %v", got)
	}
	if err := p.show(model.Image{URL: "b"}); err == nil {
		t.Error("a late picture is shown")
	}
}
