package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gatewaytui/core/budget"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Usage implements ops.Console.
func (op *Operator) Usage(ctx context.Context, q ops.UsageQuery) (ops.Page[ops.Usage], error) {
	if op.store() == nil {
		return ops.Page[ops.Usage]{}, errStarting
	}
	rows, err := op.o.Budget.Usage(ctx, q)
	for i := range rows {
		rows[i].Group = term.Clean(rows[i].Group, maxInboxText)
	}
	return ops.Page[ops.Usage]{Items: rows}, err
}

// Budgets implements ops.Console.
func (op *Operator) Budgets(ctx context.Context) (ops.Page[ops.Budget], error) {
	if op.store() == nil {
		return ops.Page[ops.Budget]{}, errStarting
	}
	rows, err := op.o.Budget.Budgets(ctx)
	return ops.Page[ops.Budget]{Items: rows}, err
}

// Rates implements ops.Console. It reads memory alone.
func (op *Operator) Rates(_ context.Context, span time.Duration) (ops.Rates, error) {
	return op.o.Rates.Show(time.Now(), cmp.Or(span, ops.RateSpan)), nil
}

// errStarting is the answer to what needs the store before it is open.
var errStarting = &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "try again in a moment"}

// checkRaise refuses a raise of an unknown budget, or by something that is no amount.
func checkRaise(op *Operator, cmd ops.Command) error {
	if !op.o.Budget.Known(cmd.Target) {
		return ops.UnknownName("budget", cmd.Target, op.o.Budget.Names())
	}
	_, err := budget.ParseRaise(cmd.Amount, cmd.Until, time.Now(), op.o.Budget.Zone())
	return err
}

// raiseBudget carries out VerbRaise.
func (op *Operator) raiseBudget(ctx context.Context, cmd ops.Command) (string, any, error) {
	r, err := budget.ParseRaise(cmd.Amount, cmd.Until, time.Now(), op.o.Budget.Zone())
	if err != nil {
		return "", nil, err
	}
	r.Budget, r.By = cmd.Target, actor(cmd.By)
	if err := op.o.Budget.Raise(ctx, r); err != nil {
		return "", nil, err
	}
	by := fmt.Sprintf("each limit of it by %s %s", budget.Money(r.Money), op.o.Budget.Currency())
	if r.Tokens > 0 {
		by = fmt.Sprintf("its tokens a day by %d", r.Tokens)
	}
	return fmt.Sprintf("%s, until %s", by, r.Until.In(op.o.Budget.Zone()).Format("2006-01-02 15:04 MST")), nil, nil
}
