import java.io.BufferedInputStream;
import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.openjdk.jmc.common.IDescribable;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IType;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.util.IPreferenceValueProvider;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.internal.EventArray;
import org.openjdk.jmc.flightrecorder.internal.FlightRecordingLoader;
import org.openjdk.jmc.flightrecorder.jdk.JdkTypeIDs;
import org.openjdk.jmc.flightrecorder.memleak.ReferenceTreeModel;
import org.openjdk.jmc.flightrecorder.memleak.ReferenceTreeObject;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;

/**
 * What JDK Mission Control makes of recordings: the types as its event browser names them, what each of its rules
 * says, and the tree of its live-objects page. Arguments: a file for the answers, then recordings.
 */
public class JmcRules {
    private static final int PARALLEL = 2;

    public static void main(String[] arguments) throws Exception {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(arguments[0])))) {
            for (int i = 1; i < arguments.length; i++) {
                File file = new File(arguments[i]);
                out.println("FILE|" + file.getName());
                types(file, out);
                IItemCollection events = JfrLoaderToolkit.loadEvents(file);
                rules(events, out);
                liveObjects(events, out);
            }
        }
    }

    private static void types(File file, PrintWriter out) throws Exception {
        try (var in = new BufferedInputStream(Files.newInputStream(file.toPath()))) {
            for (EventArray array : FlightRecordingLoader.loadStream(in, false, false).getArrays()) {
                IType<IItem> type = array.getType();
                String id = type.getIdentifier();
                out.println("TYPE|" + id + "|" + type.getName() + "|" + String.join("/", array.getTypeCategory()) + "|"
                        + array.getEvents().length);
                for (var key : type.getAccessorKeys().entrySet()) {
                    IDescribable field = key.getValue();
                    out.println("FIELD|" + id + "|" + key.getKey().getIdentifier() + "|" + field.getName() + "|"
                            + key.getKey().getContentType().getIdentifier());
                }
            }
        }
    }

    private static void rules(IItemCollection events, PrintWriter out) {
        Map<String, String> lines = new TreeMap<>();
        Map<IRule, Future<IResult>> results = RulesToolkit.evaluateParallel(
                RuleRegistry.getRules(), events, IPreferenceValueProvider.DEFAULT_VALUES, PARALLEL);
        results.forEach((rule, future) -> lines.put(rule.getId(), answer(rule, future)));
        lines.values().forEach(out::println);
    }

    private static String answer(IRule rule, Future<IResult> future) {
        String head = "RULE|" + rule.getId() + "|" + rule.getName() + "|";
        try {
            IResult result = future.get();
            String summary = String.valueOf(result.getSummary()).replaceAll("\\s+", " ");
            return head + result.getSeverity().name() + "|" + summary;
        } catch (Exception error) {
            return head + "FAILED|" + error + " " + error.getCause();
        }
    }

    /** A line for each object that its page shows as a leak: from the leaf up to the root. */
    private static void liveObjects(IItemCollection events, PrintWriter out) {
        ReferenceTreeModel tree = ReferenceTreeModel.buildReferenceTree(events.apply(ItemFilters.type(JdkTypeIDs.OLD_OBJECT_SAMPLE)));
        for (ReferenceTreeObject leaf : tree.getLeakObjects()) {
            List<String> names = new ArrayList<>();
            for (ReferenceTreeObject at = leaf; at != null; at = at.getParent()) {
                names.add(at.getType().getFullName());
            }
            out.println("LEAK|" + String.join(" < ", names) + "|" + leaf.getRootObject().getRootDescription());
        }
    }
}
