package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

// A model may have less room than its config, its endpoint or no one says, and count more tokens than any estimate.
func TestCV4_NoTurnFailsForItsLengthAndNoneMakesMoreThanTwoFurtherCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.IntRange(4096, 24_000).Draw(t, "window")
		believed := rapid.SampledFrom([]int{0, whole, whole * 2, 200_000}).Draw(t, "believed")
		told, bytes := rapid.Bool().Draw(t, "told"), rapid.IntRange(1, 4).Draw(t, "bytes of a token")
		if bytes == 1 && !told {
			whole = max(whole, 8192)
		}
		calls, answers, asked, wrong := 0, 0, "", ""
		var results []string // of the steps of a turn, drawn before it: a turn recovers from panics, and rapid's are such
		fails := rapid.SliceOfN(rapid.Bool(), 7, 7).Draw(t, "summaries that fail")
		step := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"line ", "字", "0x7f,"}).Draw(t, "kind"), rapid.IntRange(0, 4000).Draw(t, "size"))
		})
		read := fakeTool{"read", func(context.Context, tool.Call) (string, error) {
			result := results[0]
			results = results[1:]
			return result, nil
		}}
		b := newBench(func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
			calls++
			n := 0
			for _, m := range req.Messages {
				n += 4 + len(m.Content)/bytes
				for _, c := range m.ToolCalls {
					n += 8 + len(c.Arguments)/bytes
				}
			}
			for _, s := range req.Tools {
				n += (len(s.Name) + len(s.Description) + len(s.Schema)) / bytes
			}
			if n > whole {
				return model.Response{}, &model.Error{Kind: model.KindTooLong, Message: "too long", Window: map[bool]int{true: whole}[told]}
			}
			if isSummary(req) {
				if fails[calls%len(fails)] {
					return model.Response{}, errors.New("no summary")
				}
				return says("they talked"), nil
			}
			if bad := wellFormed(req.Messages); bad != "" {
				wrong = bad
			}
			if !strings.Contains(texts(req), asked) {
				wrong = fmt.Sprintf("the model does not read %q in %d tokens", asked, n)
			}
			answers++
			if len(results) > 0 {
				resp := asks(model.ToolCall{ID: fmt.Sprint("c", answers), Name: "read", Arguments: `{"file":"x"}`})
				resp.Usage.In = int64(n)
				return resp, nil
			}
			return model.Response{Message: says("done").Message, Usage: model.Usage{In: int64(n), Out: 5}}, nil
		}, func(c *Config) { c.Models, c.MaxIterations = tight{c.Models.(*models), believed}, 20 }, read)
		for turn := range rapid.IntRange(1, 5).Draw(t, "turns") {
			calls, answers, results = 0, 0, rapid.SliceOfN(step, 0, 10).Draw(t, "steps")
			asked = fmt.Sprintf("question %d", turn)
			text := asked + strings.Repeat(" and more", rapid.IntRange(0, 3000).Draw(t, "length"))
			if _, err := b.turn(t.Context(), Turn{ID: fmt.Sprint("T", turn), Text: text, System: "Be brief.", Calls: NewCalls(100, nil)}); err != nil || wrong != "" {
				t.Fatalf("turn %d of a window of %d: %v; %s", turn, whole, err, wrong)
			}
			if calls-answers > mostExtra {
				t.Fatalf("turn %d made %d calls for %d answers", turn, calls, answers)
			}
		}
	})
}
