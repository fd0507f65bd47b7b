package views

import (
	"math"
	"time"

	"gatewaytui/core/ops"
)

// someRates are those of a gateway that has run for 25 minutes, over 30.
func someRates() *ops.Rates {
	r := &ops.Rates{
		At: before(0), SpanMS: 1_800_000, StepMS: 30_000, TurnP50MS: 2100, TurnP95MS: 48_000, FirstTokenP50MS: 1240, FirstTokenP95MS: 3400,
	}
	for i := range 50 {
		wave := 0.55 + 0.4*math.Sin(float64(i)/6) + 0.05*math.Cos(float64(i)*2.7)
		step := ops.RateStep{
			Turns: int(22 * wave), TokensIn: int64(9000 * wave), TokensOut: int64(1200 * wave), Cost: 0.004 * wave, FirstTokenMS: int64(900 + 500*math.Abs(math.Sin(float64(i)/3))),
			Running: int(14 * wave), RSSBytes: 34<<20 + int64(i)<<16, ToolsBytes: int64(1.2e9 * wave), Processes: 31,
		}
		if i%17 == 5 {
			step.Queued, step.FirstTokenMS = 1+i/8, 0
		}
		r.Steps = append(r.Steps, step)
	}
	ended := func(session, agent, state string, ago time.Duration, took, tokens int64, cost *float64) {
		r.Lately = append(r.Lately, ops.TurnEnded{
			Session: session, Turn: "01KB" + agent + session, Agent: agent, State: state, EndedAt: before(ago), ElapsedMS: took, Tokens: tokens, Cost: cost,
		})
	}
	ended("api:conv:77b1", "default", "done", 3*time.Second, 2100, 1400, new(0.0104))
	ended("telegram:dm:4412", "coder", "done", 41*time.Second, 640, 210, new(0.0008))
	ended("discord:42:#build", "coder", "failed", 2*time.Minute, 61_000, 18_300, new(0.21))
	ended("api:user:bob", "", "interrupted", 4*time.Minute, 192_000, 0, nil)
	for i := range 16 {
		ended("irc:#help:bob", "default", "done", time.Duration(5+i)*time.Minute, int64(900+100*i), int64(400*i), new(0.003))
	}
	return r
}
