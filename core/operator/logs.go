package operator

import (
	"context"
	"errors"

	"gatewaytui/core/instance"
	"gatewaytui/core/logs"
	"gatewaytui/core/ops"
)

// Logs implements ops.Console. It reads the files of the home's log, a bounded part of them at a time.
func (op *Operator) Logs(ctx context.Context, q ops.LogQuery) (ops.Page[ops.LogLine], error) {
	page, err := logs.Newest(ctx, instance.LogOf(op.o.Home), q)
	if _, said := errors.AsType[*ops.Error](err); err != nil && !said {
		return page, unreadable("the log", err)
	}
	return page, err
}
