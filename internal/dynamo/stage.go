package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/sweep"
)

// stagePrefix begins the keys of the stages that are in vain, which are beside the leases.
const stagePrefix = "stage#"

func stageKey(stage string) table.Key { return table.NewKey(leaseKey(0).PK, stagePrefix+stage) }

// AddVisits implements sweep.Stages.
func (s *DueStore) AddVisits(ctx context.Context, visits []sweep.StageVisits) error {
	known, err := s.InVain(ctx)
	for _, v := range visits {
		isKnown := slices.ContainsFunc(known, func(k sweep.InVain) bool { return k.Stage == v.Stage })
		k := stageKey(v.Stage)
		switch {
		case v.Succeeded && isKnown:
			err = errors.Join(err, s.db.DeleteWhere(ctx, "end stage in vain", k, table.Exists()))
		case !v.Succeeded:
			u := table.Add(table.AttrFailures, int64(v.Failed)).
				SetIfNone(table.AttrDueSince, v.Since).Set(table.AttrUpdatedAt, s.db.Now())
			_, failed := s.db.UpdateItem(ctx, k, u, table.Exists().Or(table.NotExists()))
			err = errors.Join(err, table.Failed("add visits in vain", failed))
		}
	}
	return err
}

// InVain reads the stages of the background work whose visits have had no success.
func (s *DueStore) InVain(ctx context.Context) (all []sweep.InVain, err error) {
	where := expression.Key(table.AttrPK).Equal(table.Value(leaseKey(0).PK)).
		And(expression.Key(table.AttrSK).BeginsWith(stagePrefix))
	for it, err := range s.db.Query(ctx, "read stages in vain", table.Query{Where: where}) {
		if err != nil {
			return nil, err
		}
		all = append(all, sweep.InVain{
			Stage: strings.TrimPrefix(table.KeyOf(it).SK, stagePrefix), Visits: int(it.Int64(table.AttrFailures)),
			Since: it.Time(table.AttrDueSince), At: it.Time(table.AttrUpdatedAt),
		})
	}
	return all, nil
}
