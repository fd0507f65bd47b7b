package limit

import "container/list"

// Queue is waiting work in the order in which it is served: each owner gets one thing before any of them gets a second, in
// the order in which the owners began to wait. So an owner with much waiting work does not delay the others. The work of one
// owner is served in its order.
//
// The zero value is empty. It has no lock: the caller guards it.
type Queue[T any] struct {
	// owners are those with waiting work, the next one to be served first; each value is an *owner.
	owners list.List
	byName map[string]*list.Element
	n      int
}

// owner is the waiting work of one owner, oldest first; each value is a T.
type owner struct {
	name string
	work list.List
}

// Place is where one piece of work waits.
type Place struct {
	owner string
	at    *list.Element
}

// Push adds work behind that of its owner.
func (q *Queue[T]) Push(name string, work T) Place {
	turn := q.byName[name]
	if turn == nil {
		if q.byName == nil {
			q.byName = map[string]*list.Element{}
		}
		turn = q.owners.PushBack(&owner{name: name})
		q.byName[name] = turn
	}
	q.n++
	return Place{name, turn.Value.(*owner).work.PushBack(work)}
}

// Remove takes work out that is still in the queue.
func (q *Queue[T]) Remove(p Place) {
	turn := q.byName[p.owner]
	o := turn.Value.(*owner)
	o.work.Remove(p.at)
	q.n--
	if o.work.Len() == 0 {
		q.drop(turn)
	}
}

// Pop takes out what is served next; ok is false for an empty queue. Its owner goes to the end of the line.
func (q *Queue[T]) Pop() (work T, ok bool) {
	turn := q.owners.Front()
	if turn == nil {
		return work, false
	}
	o := turn.Value.(*owner)
	work = o.work.Remove(o.work.Front()).(T)
	q.n--
	if o.work.Len() == 0 {
		q.drop(turn)
	} else {
		q.owners.MoveToBack(turn)
	}
	return work, true
}

func (q *Queue[T]) drop(turn *list.Element) {
	q.owners.Remove(turn)
	delete(q.byName, turn.Value.(*owner).name)
}

// Len is how much work waits.
func (q *Queue[T]) Len() int { return q.n }
