import java.io.BufferedInputStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.openjdk.jmc.common.IDescribable;
import org.openjdk.jmc.common.IDisplayable;
import org.openjdk.jmc.common.IMCOldObject;
import org.openjdk.jmc.common.item.IAccessorKey;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.IType;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.flightrecorder.internal.EventArray;
import org.openjdk.jmc.flightrecorder.internal.FlightRecordingLoader;
import org.openjdk.jmc.flightrecorder.jdk.JdkAttributes;

/**
 * What JDK Mission Control's core loader makes of every file of a folder: one block of lines a file. Arguments: the
 * folder, a file for the answers and, when types and numbers of events are enough, {@code counts}.
 */
public class JmcJudge {
    public static void main(String[] arguments) throws Exception {
        boolean values = arguments.length < 3 || !arguments[2].equals("counts");
        try (var files = Files.list(Path.of(arguments[0]));
                PrintWriter out = new PrintWriter(Files.newBufferedWriter(Path.of(arguments[1])))) {
            for (Path file : files.sorted().toList()) {
                out.println("FILE|" + file.getFileName());
                try (var in = new BufferedInputStream(Files.newInputStream(file))) {
                    for (EventArray array : FlightRecordingLoader.loadStream(in, false, false).getArrays()) {
                        describe(array, values, out);
                    }
                } catch (Throwable error) {
                    out.println("ERROR|" + error);
                }
            }
        }
    }

    private static void describe(EventArray array, boolean values, PrintWriter out) {
        IType<IItem> type = array.getType();
        String id = type.getIdentifier();
        out.println("TYPE|" + id + "|" + type.getName() + "|" + String.join("/", array.getTypeCategory()) + "|"
                + array.getEvents().length);
        if (!values) {
            return;
        }
        for (var key : type.getAccessorKeys().entrySet()) {
            IDescribable field = key.getValue();
            out.println("FIELD|" + id + "|" + key.getKey().getIdentifier() + "|" + field.getName() + "|"
                    + key.getKey().getContentType().getIdentifier());
        }
        for (IItem event : array.getEvents()) {
            for (var key : type.getAccessorKeys().keySet()) {
                out.println("VALUE|" + id + "|" + key.getIdentifier() + "|" + value(type, key, event));
            }
            IMemberAccessor<IMCOldObject, IItem> object = JdkAttributes.OBJECT.getAccessor(type);
            if (object != null) {
                hops(object.getMember(event), out);
            }
        }
    }

    private static <T> String value(IType<IItem> type, IAccessorKey<T> key, IItem event) {
        T value = type.getAccessor(key).getMember(event);
        String text = value instanceof IQuantity quantity
                ? quantity.displayUsing(IDisplayable.AUTO)
                : String.valueOf(value);
        return text.replace("\n", "\\n");
    }

    private static void hops(IMCOldObject object, PrintWriter out) {
        for (; object != null; object = object.getReferrer()) {
            String edge = object.getReferrerArray() != null
                    ? "[" + object.getReferrerArray().getIndex() + "]"
                    : object.getReferrerField() != null ? object.getReferrerField().getName() : "root";
            out.println("HOP|" + object.getType().getFullName() + "|" + edge + "|" + object.getReferrerSkip());
        }
    }
}
