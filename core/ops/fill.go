package ops

import "context"

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
