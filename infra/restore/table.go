package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// The tags by which a restored table says where it comes from. A run that goes on finds the source by them.
const (
	tagSource = "throughline:restored-from"
	tagTime   = "throughline:restored-to"
)

// describe returns a table, or nil where there is none.
func (r *Restore) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := r.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if _, none := errors.AsType[*types.ResourceNotFoundException](err); none {
		return nil, nil //nolint:nilnil // no table is no error
	}
	if err != nil {
		return nil, fmt.Errorf("describe table %s: %w", table, err)
	}
	return out.Table, nil
}

// checkTime waits until the time can be restored, and refuses one that never can.
func (r *Restore) checkTime(ctx context.Context) error {
	return r.wait(ctx, "the backup of "+stamp(r.at), func() (bool, error) {
		out, err := r.tables.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &r.source})
		if err != nil {
			return false, fmt.Errorf("read the backups of %s: %w", r.source, err)
		}
		recovery := out.ContinuousBackupsDescription.PointInTimeRecoveryDescription
		if recovery == nil || recovery.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled {
			return false, fmt.Errorf("%s has no point-in-time recovery", r.source)
		}
		earliest := aws.ToTime(recovery.EarliestRestorableDateTime)
		latest := aws.ToTime(recovery.LatestRestorableDateTime)
		if r.at.Before(earliest) || r.at.After(time.Now()) {
			return false, fmt.Errorf("%s can be restored as it was from %s to %s, and not at %s", r.source, stamp(earliest),
				stamp(latest), stamp(r.at))
		}
		return !r.at.After(latest), nil
	})
}

// restoreTable has DynamoDB make the new table, unless it is there, and waits until it can be used.
func (r *Restore) restoreTable(ctx context.Context) (string, error) {
	there, err := r.describe(ctx, r.target)
	if err != nil {
		return "", err
	}
	if there == nil {
		if err := r.checkTime(ctx); err != nil {
			return "", err
		}
		_, err := r.tables.RestoreTableToPointInTime(ctx, &dynamodb.RestoreTableToPointInTimeInput{
			SourceTableName: &r.source, TargetTableName: &r.target, RestoreDateTime: &r.at,
		})
		if err != nil {
			return "", fmt.Errorf("restore %s into %s: %w", r.source, r.target, err)
		}
	}
	if err := r.waitActive(ctx); err != nil {
		return "", err
	}
	// The new table is read-only until the end, too: nobody may write before what was erased is erased again.
	if !r.isSwitched {
		source, err := r.readPolicy(ctx, r.arn(r.source))
		if err != nil {
			return "", err
		}
		of, err := r.readPolicy(ctx, r.arn(r.target))
		if err != nil {
			return "", err
		}
		if !r.isClosed(of) {
			if err := r.writePolicy(ctx, r.arn(r.target), source.ofTable(r.arn(r.source), r.arn(r.target))); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%s as %s was at %s", r.target, r.source, stamp(r.at)), nil
}

func (r *Restore) waitActive(ctx context.Context) error {
	return r.wait(ctx, "the table "+r.target, func() (bool, error) {
		t, err := r.describe(ctx, r.target)
		return err == nil && t != nil && t.TableStatus == types.TableStatusActive, err
	})
}

// applySettings gives the new table what a restore leaves out: stream, TTL, point-in-time recovery, deletion protection
// and tags. Each is asked for first, so that a repeat changes nothing.
func (r *Restore) applySettings(ctx context.Context) (string, error) {
	for _, set := range []func(context.Context, *Restore) error{setStream, setTTL, setRecovery, setTags} {
		if err := set(ctx, r); err != nil {
			return "", err
		}
		if err := r.waitActive(ctx); err != nil {
			return "", err
		}
	}
	return "stream, TTL, point-in-time recovery, deletion protection and tags", nil
}

func setStream(ctx context.Context, r *Restore) error {
	t, err := r.describe(ctx, r.target)
	if err != nil {
		return err
	}
	if s := t.StreamSpecification; s == nil || !aws.ToBool(s.StreamEnabled) {
		_, err := r.tables.UpdateTable(ctx, &dynamodb.UpdateTableInput{
			TableName: &r.target, StreamSpecification: table.CreateTableInput(r.target).StreamSpecification,
		})
		if err != nil {
			return fmt.Errorf("turn on the stream of %s: %w", r.target, err)
		}
		if err := r.waitActive(ctx); err != nil {
			return err
		}
	}
	if aws.ToBool(t.DeletionProtectionEnabled) {
		return nil
	}
	in := &dynamodb.UpdateTableInput{TableName: &r.target, DeletionProtectionEnabled: aws.Bool(true)}
	if _, err := r.tables.UpdateTable(ctx, in); err != nil {
		return fmt.Errorf("protect %s from deletion: %w", r.target, err)
	}
	return nil
}

func setTTL(ctx context.Context, r *Restore) error {
	out, err := r.tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &r.target})
	if err != nil {
		return fmt.Errorf("read the TTL of %s: %w", r.target, err)
	}
	if status := out.TimeToLiveDescription.TimeToLiveStatus; status == types.TimeToLiveStatusEnabled ||
		status == types.TimeToLiveStatusEnabling {
		return nil
	}
	_, err = r.tables.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &r.target, TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(table.TTLAttribute), Enabled: aws.Bool(true),
		},
	})
	if err != nil {
		return fmt.Errorf("turn on the TTL of %s: %w", r.target, err)
	}
	return nil
}

// setRecovery turns point-in-time recovery on. DynamoDB refuses that while it is enabling the backups of a new table.
func setRecovery(ctx context.Context, r *Restore) error {
	return r.wait(ctx, "the backups of "+r.target, func() (bool, error) {
		_, err := r.tables.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
			TableName: &r.target, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
				PointInTimeRecoveryEnabled: aws.Bool(true),
			},
		})
		if _, early := errors.AsType[*types.ContinuousBackupsUnavailableException](err); early {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("turn on the point-in-time recovery of %s: %w", r.target, err)
		}
		return true, nil
	})
}

// setTags copies the old table's tags but those of CloudFormation, and says where the table comes from.
func setTags(ctx context.Context, r *Restore) error {
	source, err := r.tags(ctx, r.source)
	if err != nil {
		return err
	}
	source = slices.DeleteFunc(source, func(t types.Tag) bool {
		key := aws.ToString(t.Key)
		return strings.HasPrefix(key, "aws:") || key == tagSource || key == tagTime
	})
	source = append(source, types.Tag{Key: aws.String(tagSource), Value: &r.source},
		types.Tag{Key: aws.String(tagTime), Value: aws.String(stamp(r.at))})
	_, err = r.tables.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: aws.String(r.arn(r.target)), Tags: source})
	if err != nil {
		return fmt.Errorf("tag %s: %w", r.target, err)
	}
	return nil
}

func (r *Restore) tags(ctx context.Context, table string) ([]types.Tag, error) {
	var out []types.Tag
	in := &dynamodb.ListTagsOfResourceInput{ResourceArn: aws.String(r.arn(table))}
	for {
		page, err := r.tables.ListTagsOfResource(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("read the tags of %s: %w", table, err)
		}
		out = append(out, page.Tags...)
		if in.NextToken = page.NextToken; in.NextToken == nil {
			return out, nil
		}
	}
}

// preflight checks the new table as one that a stack adopts.
func (r *Restore) preflight(ctx context.Context) (string, error) {
	report, err := preflight.Run(ctx, r.services, preflight.Options{Table: r.target, Region: r.updater.Stage.Region})
	if err != nil {
		return "", err
	}
	var wrong []string
	for _, f := range report.Findings {
		if f.Level == preflight.Error {
			wrong = append(wrong, f.Check+": "+f.Found)
		}
	}
	if !report.Ready {
		return "", fmt.Errorf("%s cannot serve: %s", r.target, strings.Join(wrong, "; "))
	}
	return "the stack can adopt " + r.target, nil
}

func (r *Restore) arn(table string) string { return r.tablePrefix + table }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
