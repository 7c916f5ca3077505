package deploy

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/throughline/throughline/infra/deployment"
)

// firing says which alarms of a release fire. CodeDeploy stops a gradual release at once while one does, also the
// release that would end the outage, and CloudFormation takes the whole stack back.
func firing(ctx context.Context, alarms *cloudwatch.Client, s deployment.Stage) []string {
	if s.Value(deployment.Gradual) != "true" {
		return nil
	}
	out, err := alarms.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{
		AlarmNamePrefix: aws.String(s.Stack + "-release-"), StateValue: types.StateValueAlarm,
	})
	if err != nil || len(out.MetricAlarms) == 0 {
		return nil
	}
	var names []string
	for _, a := range out.MetricAlarms {
		names = append(names, aws.ToString(a.AlarmName))
	}
	return []string{fmt.Sprintf("%s: firing, and a gradual release goes back while it does. Where this one ends "+
		"the outage, \"make deploy ENV=%s URGENT=1\" puts it into service at once; else deploy when the alarm is over",
		strings.Join(names, ", "), s.Name)}
}
