import com.sun.management.OperatingSystemMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

/** Loads one recording with the loader of JDK Mission Control and prints what that took, without the JVM's start. */
public final class JmcLoad {
    public static void main(String[] arguments) throws Exception {
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long wall = System.nanoTime();
        long cpu = system.getProcessCpuTime();
        IItemCollection loaded = JfrLoaderToolkit.loadEvents(new File(arguments[0]));
        wall = System.nanoTime() - wall;
        cpu = system.getProcessCpuTime() - cpu;
        long events = loaded.stream().mapToLong(of -> of.getItemCount()).sum();
        System.out.printf(
                "{\"events\":%d,\"wall_s\":%.3f,\"cpu_s\":%.3f}%n", events, wall / 1e9, cpu / 1e9);
    }
}
